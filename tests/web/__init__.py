"""The HTTP door: real bytes, over loopback, to an extender on an embedded cluster."""
