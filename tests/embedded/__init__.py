"""The cluster in memory, and the files it is read from."""
