"""Who holds what at this moment.

Belongs here: the ledger and the events that change it, what one pod counts for, the
audit that recomputes all totals.

Does not belong here: arithmetic on values and arrays (`extender.core`); decisions
(`extender.verbs`); clocks and I/O.
"""
