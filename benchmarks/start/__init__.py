"""How long a start takes, and what is held in memory after it."""
