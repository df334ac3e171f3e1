"""What others send and read, text by text."""
