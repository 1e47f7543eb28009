"""Projects, which contain experiments."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from determined.common import api
from determined.common.experimental import experiment


class Project:
    """A project of a workspace. ``reload`` updates its fields.

    Example::

        project = client.get_workspace("team").get_project("vision")
        for experiment in project.list_experiments():
            print(experiment.id)
        project.set_name("sight"), project.set_description("what we see"), project.set_key("SEE")
        project.add_note("plan", "more data"), project.remove_note("plan")
        project.archive(), project.unarchive()
        project.reload()
    """

    def __init__(self, session: api.BaseSession, project_id: int) -> None:
        self._session = session
        self.id = project_id
        self.archived: Optional[bool] = None
        self.description: Optional[str] = None
        self.n_active_experiments: Optional[int] = None
        self.n_experiments: Optional[int] = None
        self.name: Optional[str] = None
        self.notes: Optional[List[Dict[str, str]]] = None
        self.workspace_id: Optional[int] = None
        self.username: Optional[str] = None
        self.key: Optional[str] = None

    def __repr__(self) -> str:
        return f"Project(id={self.id}, name={self.name!r})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> Project:
        project = cls(session, int(fields["id"]))
        project._hydrate(fields)
        return project

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.archived = bool(fields.get("archived"))
        self.description = fields.get("description")
        self.n_active_experiments = int(fields.get("numActiveExperiments") or 0)
        self.n_experiments = int(fields.get("numExperiments") or 0)
        self.name = fields.get("name")
        self.notes = list(fields.get("notes") or [])
        self.workspace_id = fields.get("workspaceId")
        self.username = fields.get("username")
        self.key = fields.get("key")

    @property
    def _path(self) -> str:
        return f"/api/v1/projects/{self.id}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(self._path).json()["project"])

    def list_experiments(self) -> List[experiment.Experiment]:
        """List the experiments of this project."""
        found = api.read_items(
            self._session, "/api/v1/experiments", "experiments", {"projectId": self.id}
        )
        return [experiment.Experiment._from_wire(item, self._session) for item in found]

    def _patch(self, **fields: Any) -> None:
        self._hydrate(self._session.patch(self._path, json=fields).json()["project"])

    def set_description(self, description: str) -> None:
        """Replace the description."""
        self._patch(description=description)

    def set_key(self, key: str) -> None:
        """Replace the key."""
        self._patch(key=key)

    def set_name(self, name: str) -> None:
        """Replace the name."""
        self._patch(name=name)

    def archive(self) -> None:
        """Archive the project."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Unarchive the project."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def _put_notes(self, notes: List[Dict[str, str]]) -> None:
        body = {"projectId": self.id, "notes": notes}
        self.notes = list(
            self._session.put(f"{self._path}/notes", json=body).json().get("notes") or []
        )

    def add_note(self, name: str, contents: str) -> None:
        """Add a note to the project's current notes."""
        self.reload()
        self._put_notes([*(self.notes or []), {"name": name, "contents": contents}])

    def remove_note(self, name: str) -> None:
        """Remove the note of that name; ValueError unless there is exactly one."""
        self.reload()
        notes = self.notes or []
        matching = [note for note in notes if note.get("name") == name]
        if len(matching) != 1:
            raise ValueError(f"project {self.name!r} has {len(matching)} notes named {name!r}")
        self._put_notes([note for note in notes if note.get("name") != name])
