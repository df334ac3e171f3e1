"""kube-scheduler's verbs as tables."""
