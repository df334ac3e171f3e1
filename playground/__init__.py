"""`make playground`: the real control plane with example GPU nodes, to try by hand.

Belongs here: what is started and ended, in which order; how kwok plays nodes and pods;
the stand-in for the device plugins; the nodes, quotas and pods of the example; what is
printed.

Does not belong here: how a program of the control plane is built, started and ended,
and how HAMi's device plugin serves a container, which is in `tests.control_plane`, and
is tested there. Nothing here is a witness in a test: it may use what it likes of
``extender``.
"""
