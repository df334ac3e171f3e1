"""Parts of the service that need no cluster."""
