"""The dashboard and the alerts of manifests/monitoring."""
