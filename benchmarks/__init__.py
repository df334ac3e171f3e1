"""The figures: what the extender costs, measured beside the least a server can cost.

Belongs here: making large clusters, driving a running server over HTTP, and reports.
Does not belong here: what must hold on every change, which is for ``tests/``; timings
are noisy, so no figure fails a build.
"""
