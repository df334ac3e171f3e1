"""The benchmarks' own arithmetic and files: counts and ratios, never a clock."""
