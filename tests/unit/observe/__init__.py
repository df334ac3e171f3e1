"""What is logged, and what Events say."""
