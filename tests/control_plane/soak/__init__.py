"""The soak: everything that goes wrong at once, for minutes."""
