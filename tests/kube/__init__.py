"""The API server's side, scripted: real sockets, no patching."""
