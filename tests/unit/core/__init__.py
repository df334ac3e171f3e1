"""Tables for the pure arithmetic."""
