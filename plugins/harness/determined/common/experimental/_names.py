"""Finds workspaces and projects by their names; returns their fields from the master."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from determined.common import api
from determined.common.api import errors


def workspace(session: api.BaseSession, name: str) -> Mapping[str, Any]:
    """Return the workspace of that name."""
    params = {"nameCaseSensitive": name}
    for found in api.read_items(session, "/api/v1/workspaces", "workspaces", params):
        if found.get("name") == name:
            return found
    raise errors.NotFoundException(f"there is no workspace {name!r}")


def projects(
    session: api.BaseSession, workspace_id: int, **params: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield the projects of a workspace."""
    path = f"/api/v1/workspaces/{workspace_id}/projects"
    yield from api.read_items(session, path, "projects", params)


def project(
    session: api.BaseSession, workspace_id: int, workspace_name: Optional[str], name: str
) -> Mapping[str, Any]:
    """Return the project of that name in a workspace."""
    for found in projects(session, workspace_id, name=name):
        if found.get("name") == name:
            return found
    raise errors.NotFoundException(
        f"workspace {workspace_name or workspace_id} has no project {name!r}"
    )
