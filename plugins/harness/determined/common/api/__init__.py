"""The client of the master: sessions that authenticate, retry and keep their connections.

All other modules use ``Session``; ``TaskSession`` is a session with the token that the
platform gave this task. ``errors`` has their exceptions. ``bindings`` has a function for each
endpoint of the master; it is imported when it is first used.
"""

import importlib
from typing import Any

from determined.common.api import authentication, certs, errors
from determined.common.api._pages import PageOpts, read_items, read_paginated
from determined.common.api._retry import RetryPolicy
from determined.common.api._session import (
    BaseSession,
    Response,
    Session,
    TaskSession,
    UnauthSession,
)
from determined.common.api._tokens import TokenStore
from determined.common.api._url import canonicalize_master_url, get_default_master_url, quoted
from determined.common.api.authentication import salt_and_hash

__all__ = [
    "BaseSession",
    "PageOpts",
    "Response",
    "RetryPolicy",
    "Session",
    "TaskSession",
    "TokenStore",
    "UnauthSession",
    "authentication",
    "canonicalize_master_url",
    "certs",
    "errors",
    "get_default_master_url",
    "quoted",
    "read_items",
    "read_paginated",
    "salt_and_hash",
]


def __getattr__(name: str) -> Any:
    if name == "bindings":
        return importlib.import_module("determined.common.api.bindings")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
