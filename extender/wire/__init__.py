"""Bytes, Kubernetes JSON and annotation texts to our types, and back.

Belongs here: every name and format that others define: kube-scheduler's extender v1,
the parts of Pod and Node objects that decide, HAMi's annotations, quantities. What
cannot be read is refused by name with a `WireError`; it never counts as zero.

Does not belong here: what the values mean together (in `extender.core`); who holds
what (in `extender.state`); HTTP routes and status codes (in `extender.web`); getting
or writing the objects (in `extender.embedded`).
"""
