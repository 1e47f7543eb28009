"""Workspaces, which hold projects."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from determined.common import api
from determined.common.experimental import _names, project, resource_pool


class Workspace:
    """A workspace, named by its number or its name.

    Example::

        workspace = client.get_workspace("team")
        project = workspace.create_project("vision", "what we see")
        workspace.get_project("vision"), workspace.list_projects()
        workspace.delete_project("vision")
        workspace.list_pools()
        workspace.reload()
    """

    def __init__(
        self,
        session: api.BaseSession,
        workspace_id: Optional[int] = None,
        workspace_name: Optional[str] = None,
    ) -> None:
        if (workspace_id is None) == (workspace_name is None):
            raise ValueError("a Workspace takes workspace_id or workspace_name: one of them")
        self._session = session
        self.name = workspace_name
        if workspace_id is None:
            assert workspace_name is not None
            workspace_id = int(_names.workspace(session, workspace_name)["id"])
        self.id = workspace_id

    def __repr__(self) -> str:
        return f"Workspace(id={self.id}, name={self.name!r})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> Workspace:
        workspace = cls(session, workspace_id=int(fields["id"]))
        workspace.name = fields.get("name")
        return workspace

    @property
    def _path(self) -> str:
        return f"/api/v1/workspaces/{self.id}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self.name = self._session.get(self._path).json()["workspace"].get("name")

    def create_project(self, name: str, description: Optional[str] = None) -> project.Project:
        """Create a project in this workspace."""
        body = {"name": name, "workspaceId": self.id, "description": description}
        answer = self._session.post(f"{self._path}/projects", json=body).json()
        return project.Project._from_wire(answer["project"], self._session)

    def delete_project(self, name: str) -> None:
        """Delete a project that has no experiments."""
        self._session.delete(f"/api/v1/projects/{self.get_project(name).id}")

    def get_project(self, project_name: str) -> project.Project:
        """Return the project of that name."""
        found = _names.project(self._session, self.id, self.name, project_name)
        return project.Project._from_wire(found, self._session)

    def list_projects(self) -> List[project.Project]:
        """List the projects of this workspace."""
        found = _names.projects(self._session, self.id)
        return [project.Project._from_wire(item, self._session) for item in found]

    def list_pools(self) -> List[resource_pool.ResourcePool]:
        """List the resource pools that this workspace may use."""
        answer = self._session.get(f"{self._path}/available-resource-pools").json()
        names = answer["resourcePools"] or []
        return [resource_pool.ResourcePool(self._session, name) for name in names]
