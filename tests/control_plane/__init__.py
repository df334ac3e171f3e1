"""A real control plane on free loopback ports, and what stands in for its nodes.

Belongs here: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, built
once from the modules that ``tests/go/control-plane`` pins (`binaries`, `plane`,
`scheduler`); a small client (`client`); a stand-in for kubelet and device plugin that
is as strict as the real ones (`kubelet`, `plugin`, `stage`), and how it is shown to be
(`scenarios`, `faults`); and the tests that run on them, which share one control plane
and leave it empty.

Does not belong here: anything of ``extender`` in those modules. The stand-in judges
what the extender wrote, so it reads the protocol anew.
"""
