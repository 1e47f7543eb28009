"""Users of the cluster."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from determined.common import api


class User:
    """An account. Its fields have the values of the last answer; ``reload`` updates them.

    Example::

        user = client.get_user_by_name("bob")
        user.change_display_name("Bob"), user.change_password(password)
        user.link_with_agent(agent_uid=1000, agent_gid=1000, agent_user="bob", agent_group="bob")
        user.deactivate(), user.activate()
        user.rename("robert")
        user.reload()
    """

    def __init__(self, user_id: int, session: api.BaseSession) -> None:
        self.user_id = user_id
        self._session = session
        self.username: Optional[str] = None
        self.admin: Optional[bool] = None
        self.active: Optional[bool] = None
        self.remote: Optional[bool] = None
        self.agent_uid: Optional[int] = None
        self.agent_gid: Optional[int] = None
        self.agent_user: Optional[str] = None
        self.agent_group: Optional[str] = None
        self.display_name: Optional[str] = None

    def __repr__(self) -> str:
        return f"User(user_id={self.user_id}, username={self.username!r})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> User:
        user = cls(int(fields["id"]), session)
        user._hydrate(fields)
        return user

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.username = fields.get("username")
        self.admin = bool(fields.get("admin"))
        self.active = bool(fields.get("active", True))
        self.remote = bool(fields.get("remote"))
        self.display_name = fields.get("displayName")
        agent = fields.get("agentUserGroup") or {}
        self.agent_uid, self.agent_gid = agent.get("agentUid"), agent.get("agentGid")
        self.agent_user, self.agent_group = agent.get("agentUser"), agent.get("agentGroup")

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(f"/api/v1/users/{self.user_id}").json()["user"])

    def _patch(self, **fields: Any) -> None:
        self._session.patch(f"/api/v1/users/{self.user_id}", json=fields)
        self.reload()

    def rename(self, new_username: str) -> None:
        """Change the username, with which this user signs in."""
        self._patch(username=new_username)

    def activate(self) -> None:
        """Allow this user to sign in."""
        self._patch(active=True)

    def deactivate(self) -> None:
        """Do not allow this user to sign in."""
        self._patch(active=False)

    def change_display_name(self, display_name: str) -> None:
        """Change the display name of this user."""
        self._patch(displayName=display_name)

    def change_password(self, new_password: str) -> None:
        """Change the password of this user."""
        self._patch(password=api.salt_and_hash(new_password), isHashed=True)

    def link_with_agent(
        self,
        agent_uid: Optional[int] = None,
        agent_gid: Optional[int] = None,
        agent_user: Optional[str] = None,
        agent_group: Optional[str] = None,
    ) -> None:
        """Set the account of the nodes with which this user's tasks run."""
        group = {
            "agentUid": agent_uid,
            "agentGid": agent_gid,
            "agentUser": agent_user,
            "agentGroup": agent_group,
        }
        self._patch(agentUserGroup=group)
