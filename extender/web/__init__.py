"""The HTTP door.

Belongs here: routes, limits, and what an error looks like to a client.

Does not belong here: decisions and their texts (`extender.verbs`, `extender.service`);
the bytes of kube-scheduler's protocol (`extender.wire`).
"""
