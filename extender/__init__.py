"""A kube-scheduler extender that shares GPUs between pods.

Rooms, imports pointing inwards::

    errors <- core <- state <- verbs <- wire <- settings <- service
           <- embedded, kube, web <- runtime <- cli

Each room's own docstring says what belongs there.
"""
