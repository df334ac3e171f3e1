"""A bound on how often something is done."""


class TokenBucket:
    """Fills with time, up to a limit; each doing takes one token.

    Example:
        >>> bucket = TokenBucket(per_second=1.0, most=2, now=0.0)
        >>> [bucket.take(0.0), bucket.take(0.0), bucket.take(0.5), bucket.take(1.0)]
        [True, True, False, True]
    """

    def __init__(self, *, per_second: float, most: int, now: float) -> None:
        self._per_second = per_second
        self._most = most
        self._tokens = float(most)
        self._at = now

    def take(self, now: float) -> bool:
        """Take a token, if there is one.

        Args:
            now: On the clock of `__init__`, in seconds.
        """
        grown = self._tokens + (now - self._at) * self._per_second
        self._tokens, self._at = min(float(self._most), grown), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
