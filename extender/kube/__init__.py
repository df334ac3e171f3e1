"""A cluster behind an API server.

Belongs here: reaching the server (configuration and credentials by kubernetes-asyncio),
requests and what their statuses mean, list and watch, the writes of a bind.

Does not belong here: decisions (`extender.verbs`); the order of a bind's steps
(`extender.service`); what objects and annotations mean (`extender.wire`).
"""
