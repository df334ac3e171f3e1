"""The ledger and what a pod counts for, as tables."""
