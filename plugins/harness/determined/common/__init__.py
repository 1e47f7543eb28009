"""The client of the master and checkpoint storage, which the public modules share."""

import logging
import sys

__all__ = ["set_logger"]

_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"


def set_logger(debug_enabled: bool) -> None:
    """Send all log lines to the standard output, in the form that the log viewer reads.

    Example: ``common.set_logger(debug_enabled=True)``
    """
    level = logging.DEBUG if debug_enabled else logging.INFO
    logging.basicConfig(level=level, format=_FORMAT, stream=sys.stdout, force=True)
