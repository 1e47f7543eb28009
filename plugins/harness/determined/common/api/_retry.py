"""When to repeat a request, and for how long."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from typing import Any, Dict, FrozenSet, Optional

# A gateway without its master, and a master without its database, answer with one of these.
UNAVAILABLE = frozenset({502, 503, 504})


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """How a session repeats a request that was not answered.

    A request is repeated until ``total`` attempts after the first are spent or ``patience``
    seconds have passed, whichever comes first; None lifts that limit. A pause between two
    attempts is never longer than ``max_pause``, whatever pause the server proposes.

    Example:

        >>> policy = RetryPolicy(total=3)
        >>> policy.allows(attempts=2, elapsed=1.0)
        True
        >>> policy.pause(attempts=1) >= 0
        True
    """

    total: Optional[int] = 5
    patience: Optional[float] = None
    backoff_factor: float = 0.5
    status_forcelist: FrozenSet[int] = UNAVAILABLE
    max_pause: float = 10.0

    def allows(self, attempts: int, elapsed: float) -> bool:
        """Return whether another attempt is allowed after ``attempts`` and ``elapsed`` seconds."""
        if self.total is not None and attempts > self.total:
            return False
        return self.patience is None or elapsed < self.patience

    def pause(self, attempts: int, retry_after: Optional[float] = None) -> float:
        """Return the seconds to wait before the next attempt.

        Pauses double, and vary by a quarter so that many workers do not retry at the same time.
        """
        pause = min(self.max_pause, self.backoff_factor * 2.0 ** min(attempts - 1, 16))
        if retry_after is not None:
            pause = min(self.max_pause, max(pause, retry_after))
        # A generator of its own: drawing from the global one would disturb seeded user code.
        return pause * (0.75 + 0.5 * random.SystemRandom().random())


def no_retry() -> RetryPolicy:
    """Return the policy without retries."""
    return RetryPolicy(total=0)


def task_policy() -> RetryPolicy:
    """Return the policy of a task: requests survive an outage of the master of ten minutes.

    ``DET_RETRY_CONFIG`` may replace it: a JSON object with ``total`` and ``backoff_factor``,
    the names that urllib3 gives them, and ``patience``, in seconds.
    """
    text = os.environ.get("DET_RETRY_CONFIG")
    if not text:
        return RetryPolicy(total=None, patience=600.0, backoff_factor=0.25)
    try:
        config: Dict[str, Any] = json.loads(text)
        return RetryPolicy(
            total=config.get("total"),
            patience=config.get("patience", 600.0),
            backoff_factor=float(config.get("backoff_factor", 0.5)),
            status_forcelist=frozenset(config.get("status_forcelist", UNAVAILABLE)),
        )
    except (ValueError, TypeError, AttributeError) as err:
        raise ValueError(
            f'DET_RETRY_CONFIG must be a JSON object like {{"total": 20}}, not {text!r}: {err}'
        ) from err
