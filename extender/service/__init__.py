"""The extender: one method per verb, over one ledger.

Belongs here: the verbs as synchronous steps on the ledger between awaited effects; the
commit of a bind; the port through which all clusters are written and read.

Does not belong here: decisions (`extender.verbs`); how a cluster is reached
(`extender.embedded`, `extender.kube`); HTTP (`extender.web`).
"""

from extender.service.cluster import Binding, Cluster, NodeLock, Turn
from extender.service.extender import Extender

__all__ = ["Binding", "Cluster", "Extender", "NodeLock", "Turn"]
