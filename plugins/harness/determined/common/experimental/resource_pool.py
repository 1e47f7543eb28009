"""Resource pools, and the workspaces that may use them."""

from __future__ import annotations

from typing import Dict, List
from urllib.parse import quote

from determined.common import api


class ResourcePool:
    """A resource pool, named by its name.

    Only administrators change the bindings of a pool.

    Example::

        pool = client.get_workspace("team").list_pools()[0]
        pool.add_bindings(["research"])
        pool.list_workspaces()
        pool.replace_bindings(["vision"])
        pool.remove_bindings(["vision"])
    """

    def __init__(self, session: api.BaseSession, name: str = "") -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    @property
    def _path(self) -> str:
        return f"/api/v1/resource-pools/{quote(self.name, safe='')}/workspace-bindings"

    def _body(self, workspace_names: List[str]) -> Dict[str, object]:
        return {"resourcePoolName": self.name, "workspaceNames": workspace_names}

    def add_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to more workspaces; a bound pool takes work of its workspaces only."""
        self._session.post(self._path, json=self._body(workspace_names))

    def remove_bindings(self, workspace_names: List[str]) -> None:
        """Remove bindings; a pool without any is open to all workspaces."""
        self._session.delete(self._path, json=self._body(workspace_names))

    def replace_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to exactly these workspaces."""
        self._session.put(self._path, json=self._body(workspace_names))

    def list_workspaces(self) -> List[str]:
        """List the names of the workspaces to which the pool is bound."""
        ids = self._session.get(self._path).json()["workspaceIds"] or []
        found = [self._session.get(f"/api/v1/workspaces/{n}").json() for n in ids]
        return [str(answer["workspace"]["name"]) for answer in found]
