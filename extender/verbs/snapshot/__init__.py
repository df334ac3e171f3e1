"""A state and a decision in one value, to be decided again elsewhere."""
