"""Bursts of pods through the real kube-scheduler and API server."""
