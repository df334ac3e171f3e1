"""The image: its Dockerfile is linted, and its stages run without a builder."""
