"""Reads lists that the master provides page by page."""

from __future__ import annotations

import enum
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, TypeVar

from determined.common.api._session import BaseSession

T = TypeVar("T")


class PageOpts(str, enum.Enum):
    """How many pages ``read_paginated`` reads; example: ``PageOpts.single``.

    Example: ``api.read_paginated(fetch, pages=api.PageOpts.all)``
    """

    single = "1"
    all = "all"


def read_paginated(
    get_with_offset: Callable[[int], T], offset: int = 0, pages: PageOpts = PageOpts.all
) -> Iterator[T]:
    """Yield the answers of a function of ``bindings``, page by page.

    Example::

        for page in api.read_paginated(lambda o: bindings.get_GetExperiments(session, offset=o)):
            print([e.name for e in page.experiments])
    """
    while True:
        answer: Any = get_with_offset(offset)
        yield answer
        end, total = answer.pagination.endIndex or 0, answer.pagination.total or 0
        # A page that does not move on would be read for ever.
        if pages == PageOpts.single or end >= total or end <= offset:
            return
        offset = end


def read_items(
    session: BaseSession,
    path: str,
    key: str,
    params: Optional[Mapping[str, Any]] = None,
    max_results: Optional[int] = None,
    page_size: Optional[int] = None,
) -> Iterator[Dict[str, Any]]:
    """Yield the items under ``key`` of all pages, or the first ``max_results`` of them.

    Example::

        for project in api.read_items(session, "/api/v1/workspaces/1/projects", "projects"):
            print(project["name"])
    """
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
