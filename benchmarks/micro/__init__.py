"""Times and counts of single steps: no socket, no cluster."""
