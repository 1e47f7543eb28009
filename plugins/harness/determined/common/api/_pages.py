"""Reads lists that the master gives out page by page."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional

from determined.common.api._session import BaseSession


def read_paginated(
    session: BaseSession,
    path: str,
    key: str,
    params: Optional[Mapping[str, Any]] = None,
    max_results: Optional[int] = None,
    page_size: Optional[int] = None,
) -> Iterator[Dict[str, Any]]:
    """Yield the items under ``key`` of all pages, or the first ``max_results`` of them."""
    offset = 0
    left = max_results
    while left is None or left > 0:
        limit = page_size if left is None else min(left, page_size or left)
        answer = session.get(path, params={**(params or {}), "offset": offset, "limit": limit})
        body = answer.json()
        items = body.get(key) or []
        yield from items
        if left is not None:
            left -= len(items)
        page = body.get("pagination") or {}
        end = int(page.get("endIndex") or 0)
        # A page that does not move on would be read for ever.
        if end <= offset or end >= int(page.get("total") or 0):
            return
        offset = end
