"""What of the documentation is made by code.

Belongs here: pages and pictures that follow from the code (``python -m pages`` writes
them into ``docs``), and how pages become a site (`pages.site`). What is written here is
committed, so that it can be read on a git host; tests/contract/test_pages.py holds it
to what the code gives.

Does not belong here: prose, which stands in ``docs``; the figures of
docs/performance.md, which `benchmarks` writes.
"""
