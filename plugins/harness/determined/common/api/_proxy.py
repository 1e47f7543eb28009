"""Chooses the web proxy of a request by the usual environment variables.

``http_proxy``, ``https_proxy`` and ``all_proxy`` name proxies, ``no_proxy`` names hosts to reach
directly; names in capitals work too. Requests to a task's loopback master never use a proxy.
"""

from __future__ import annotations

import base64
import ipaddress
from typing import Dict, NamedTuple, Optional
from urllib import parse, request

from determined.common.api import errors


class Proxy(NamedTuple):
    """An HTTP proxy, with the header that signs in to it."""

    host: str
    port: int
    headers: Dict[str, str]


def proxy_for(scheme: str, host: str, port: int) -> Optional[Proxy]:
    """Return the proxy for requests to a server, or None for a direct connection."""
    if _is_loopback(host) or request.proxy_bypass_environment(f"{host}:{port}"):  # type: ignore[attr-defined]
        return None
    found = request.getproxies_environment()
    url = found.get(scheme) or found.get("all")
    if not url:
        return None
    parsed = parse.urlsplit(url if "://" in url else f"http://{url}")
    if parsed.scheme != "http" or not parsed.hostname:
        raise errors.BadRequestException(
            f"the proxy {parsed.scheme}://{parsed.hostname or ''} cannot be used: only http:// "
            f"proxies are supported; name {host} in no_proxy to reach it directly"
        )
    headers = {}
    if parsed.username:
        words = f"{parse.unquote(parsed.username)}:{parse.unquote(parsed.password or '')}"
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(words.encode()).decode()
    return Proxy(parsed.hostname, parsed.port or 80, headers)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
