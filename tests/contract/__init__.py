"""What others hold us to: Kubernetes' bytes and Kubernetes' arithmetic."""
