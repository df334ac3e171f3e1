"""Properties: what holds for every input that hypothesis can draw."""
