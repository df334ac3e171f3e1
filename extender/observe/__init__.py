"""What the process tells of itself, in figures.

Belongs here: the metrics, their names, units and help texts.

Does not belong here: when something is counted (`extender.service`, `extender.kube`);
routes (`extender.web`).
"""
