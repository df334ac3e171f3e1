"""Checks of the installation around the extender, from documents that were read.

Belongs here: what kube-scheduler's configuration, versions, webhooks, guards and
certificates say, held against each other and against how the extender serves. Pure:
documents in, diagnoses out.

Does not belong here: reading them (`extender.wire.installation`); checks of the state
(`extender.verbs.doctor`).
"""
