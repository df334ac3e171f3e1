"""A cluster in memory, read from what kubectl prints.

Belongs here: reading files of nodes and pods, holding them, playing the API server's
and the device plugin's part in a bind.

Does not belong here: decisions (`extender.verbs`); the HTTP routes (`extender.web`).
"""
