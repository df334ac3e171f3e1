"""What is installed around the extender, read from its objects.

Belongs here: KubeSchedulerConfiguration, webhook configurations, policies, Services,
versions and certificates, reduced to `extender.verbs.installation.documents`.

Does not belong here: getting the objects; what is wrong with them
(`extender.verbs.installation`).
"""
