"""How a process proves who it is."""

from __future__ import annotations

import hashlib
import os
from typing import Optional

from determined.common.api import certs
from determined.common.api._session import Session, TaskSession, UnauthSession

# Part of the wire: passwords travel hashed with this salt.
PASSWORD_SALT = "GubPEmmotfiK9TMD6Zdw"


def salt_and_hash(password: str) -> str:
    """Return password as the sign-in call carries it; a blank one stays blank."""
    if not password:
        return password
    return hashlib.sha512((PASSWORD_SALT + password).encode()).hexdigest()


def login(
    master_address: str, username: str, password: str, cert: Optional[certs.Cert] = None
) -> Session:
    """Sign in with a password and return a session that carries the new token."""
    session = UnauthSession(master_address, cert)
    body = {"username": username, "password": salt_and_hash(password), "isHashed": True}
    token = session.post("/api/v1/auth/login", json=body).json()["token"]
    return Session(master_address, username, token, cert)


def login_from_task(master_address: str, cert: Optional[certs.Cert]) -> TaskSession:
    """Return a session with the token that the platform gave this task."""
    token = os.environ.get("DET_SESSION_TOKEN")
    if not token:
        raise ValueError("DET_SESSION_TOKEN is not set: this is only for the inside of a task")
    return TaskSession(master_address, os.environ.get("DET_USER", ""), token, cert)
