"""Every verb over real sockets, beside a server that decides nothing.

Belongs here: the cases and what is asked in each; judging the answers; the rows. With
``python -m benchmarks.http --url`` it asks an extender of anybody.

Does not belong here: clusters, pods and servers, which other parts need as well and
which stand in ``benchmarks``; which cases there are (``workloads/http.yaml``).
"""
