"""Converts addresses of masters, as users write them, to the form that the client uses."""

from __future__ import annotations

import os
from urllib import parse


def canonicalize_master_url(url: str) -> str:
    """Return url with scheme and port and without a trailing slash.

    A bare host means HTTP on the master's usual port, 8080.

    Example:

        >>> canonicalize_master_url("detent.example.com")
        'http://detent.example.com:8080'
    """
    if url.startswith("https://"):
        default_port = 443
    elif url.startswith("http://"):
        default_port = 80
    else:
        url = f"http://{url}"
        default_port = 8080
    parsed = parse.urlsplit(url)
    if not parsed.hostname:
        raise ValueError(f"invalid master url {url}: it names no host")
    if parsed.username or parsed.password or parsed.query or parsed.fragment:
        raise ValueError(
            f"invalid master url {url}: it may have a scheme, a host, a port and a path, but "
            "no user, password, query or fragment"
        )
    host = f"[{parsed.hostname}]" if ":" in parsed.hostname else parsed.hostname
    netloc = f"{host}:{parsed.port or default_port}"
    return parse.urlunsplit((parsed.scheme, netloc, parsed.path, "", "")).rstrip("/")


def get_default_master_url() -> str:
    """Return the master's address from the environment, else the local one.

    Example: ``session = api.UnauthSession(get_default_master_url())``
    """
    return os.environ.get("DET_MASTER", os.environ.get("DET_MASTER_ADDR", "localhost:8080"))


def quoted(segment: str) -> str:
    """Return a name as one segment of a path.

    Example:

        >>> quoted("a model/1")
        'a%20model%2F1'
    """
    return parse.quote(segment, safe="")
