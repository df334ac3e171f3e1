"""doctor: what is wrong with a cluster's locks, allocations, cards and quotas."""
