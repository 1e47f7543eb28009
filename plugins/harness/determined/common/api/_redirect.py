"""Decides which redirects a session follows.

A redirected request contains the session's token, so redirects are followed within one host only,
and never from HTTPS to HTTP. A request that changes something is sent again only if the status
requires the same request.
"""

from __future__ import annotations

from typing import Optional
from urllib import parse

from determined.common.api import errors

# More redirects in a row count as a loop.
MAX_REDIRECTS = 5

_SAME_METHOD = frozenset({307, 308})
_ANY = frozenset({301, 302, 303}) | _SAME_METHOD


def follow(method: str, url: str, status: int, location: Optional[str]) -> Optional[str]:
    """Return the address to which an answer redirects, or None if it is no redirect."""
    if status not in _ANY or not location:
        return None
    target = parse.urljoin(url, location)
    old, new = parse.urlsplit(url), parse.urlsplit(target)
    where = f"{method} {url} is redirected to {target}"
    if new.scheme not in ("http", "https") or new.hostname != old.hostname:
        raise errors.BadRequestException(
            f"{where}, another host, to which this session's token is not sent: name the master's "
            "own address in DET_MASTER"
        )
    if old.scheme == "https" and new.scheme == "http":
        raise errors.BadRequestException(f"{where}, which is not encrypted; it is not followed")
    same_request = (old.path, old.query) == (new.path, new.query)
    if method not in ("GET", "HEAD") and status not in _SAME_METHOD and not same_request:
        raise errors.BadRequestException(
            f"{where} with status {status}, which asks for another request than this one: name "
            "the master's own address in DET_MASTER"
        )
    return target


def split(url: str) -> tuple[str, str]:
    """Return the origin of an address, with its port, and the rest."""
    parsed = parse.urlsplit(url)
    assert parsed.hostname is not None
    host = f"[{parsed.hostname}]" if ":" in parsed.hostname else parsed.hostname
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    rest = parsed.path or "/"
    return f"{parsed.scheme}://{host}:{port}", rest + (f"?{parsed.query}" if parsed.query else "")
