"""What the process tells of itself: in figures, log lines and Events.

Belongs here: the metrics, their names, units and help texts; how log lines look, and
the thread that writes them; what Events on pods say.

Does not belong here: when something is counted or told; writing Events
(`extender.service`, `extender.kube`); routes (`extender.web`).
"""
