"""kube-scheduler's verbs as decisions: state in, decision out.

Belongs here: which nodes can hold a pod and why not (filter), how good they are
(prioritize), which cards it gets on one node (bind), and the same told with numbers
(verdicts).

Does not belong here: bytes and JSON (`extender.wire`); recording or writing what was
decided (`extender.service`).
"""
