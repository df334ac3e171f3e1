"""Decisions that are right, kept: each file here is decided again, and comes out so.

A wrong one that somebody reports comes here once it is mended: the state of its
snapshot, with what is decided now, by ``python -m tests.replays.kept FILE NAME``.
"""
