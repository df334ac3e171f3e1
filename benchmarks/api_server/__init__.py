"""A stand-in for an API server: the load that a large cluster puts on a watch.

Belongs here: lists and watches of nodes and pods on loopback, encoded ahead of time so
that whoever reads them is what is measured, and the processes that take part.
Does not belong here: what an API server decides (``tests/kube`` has one that keeps
objects, ``tests/control_plane`` the real one); writes, which nothing here needs.
"""
