"""How a process proves who it is."""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
from typing import Optional

from determined.common.api import certs, errors
from determined.common.api._session import Session, TaskSession, UnauthSession
from determined.common.api._tokens import TokenStore

# Part of the API: clients send passwords hashed with this salt.
PASSWORD_SALT = "GubPEmmotfiK9TMD6Zdw"

# A user that every new cluster has.
DEFAULT_USER = "determined"


def salt_and_hash(password: str) -> str:
    """Return a password in the form of the sign-in call; a blank one stays blank.

    Example:

        >>> len(salt_and_hash("secret")), salt_and_hash("")
        (128, '')
    """
    if not password:
        return password
    return hashlib.sha512((PASSWORD_SALT + password).encode()).hexdigest()


def login(
    master_address: str, username: str, password: str, cert: Optional[certs.Cert] = None
) -> Session:
    """Sign in with a password and return a session with the new token.

    Example: ``session = authentication.login("http://localhost:8080", "ada", password)``
    """
    session = UnauthSession(master_address, cert)
    body = {"username": username, "password": salt_and_hash(password), "isHashed": True}
    token = session.post("/api/v1/auth/login", json=body).json()["token"]
    return Session(master_address, username, token, cert)


def login_with_cache(
    master_address: str,
    requested_user: Optional[str] = None,
    password: Optional[str] = None,
    cert: Optional[certs.Cert] = None,
) -> Session:
    """Return a session, and ask for a password only if nothing else works.

    It tries in this order: the given user and password, or ``DET_USER`` and ``DET_PASS``;
    the session of ``det user login``; the token that the platform gave this task;
    a password typed at the terminal; the user of a new cluster, whose password is blank.

    Example: ``session = authentication.login_with_cache("http://localhost:8080", "ada")``
    """
    user = requested_user
    if (
        user is None
        and password is None
        and "DET_PASS" in os.environ
        and os.environ.get("DET_USER")
    ):
        user, password = os.environ["DET_USER"], os.environ["DET_PASS"]
    if user is not None and password is not None:
        return login(master_address, user, password, cert)
    store = TokenStore(master_address)
    found = _with_token(master_address, user or store.get_active_user(), store, cert)
    if found is None:
        found = _from_environment(master_address, user, cert)
    if found is not None:
        return found
    return _by_password(master_address, user or store.get_active_user(), password, cert)


def _with_token(
    master_address: str, user: Optional[str], store: TokenStore, cert: Optional[certs.Cert]
) -> Optional[Session]:
    token = None if user is None else store.get_token(user)
    if user is None or token is None:
        return None
    session = Session(master_address, user, token, cert)
    try:
        session.get("/api/v1/me")
    except (errors.UnauthenticatedException, errors.ForbiddenException):
        session.close()
        return None
    return session


def _from_environment(
    master_address: str, user: Optional[str], cert: Optional[certs.Cert]
) -> Optional[Session]:
    """Return the session of this task, if this process runs in a task of this user."""
    owner = os.environ.get("DET_USER", "")
    if user not in (None, owner):
        return None
    if os.environ.get("DET_USER_TOKEN"):
        return Session(master_address, owner, os.environ["DET_USER_TOKEN"], cert)
    if os.environ.get("DET_SESSION_TOKEN"):
        return login_from_task(master_address, cert)
    return None


def _by_password(
    master_address: str, user: Optional[str], password: Optional[str], cert: Optional[certs.Cert]
) -> Session:
    if user is None:
        try:
            return login(master_address, DEFAULT_USER, password or "", cert)
        except (errors.UnauthenticatedException, errors.ForbiddenException) as err:
            raise errors.UnauthenticatedException(
                f"nobody is signed in at {master_address}: pass user and password to login(), or "
                "sign in with 'det user login <username>'"
            ) from err
    if sys.stdin is None or not sys.stdin.isatty():
        raise errors.UnauthenticatedException(
            f"user {user!r} is not signed in at {master_address}: pass a password to login(), or "
            f"sign in with 'det user login {user}'"
        )
    return login(master_address, user, getpass.getpass(f"Password for user {user!r}: "), cert)


def logout(session: Session) -> None:
    """End a session; its token is invalid from then on.

    Example: ``authentication.logout(session)``
    """
    session.post("/api/v1/auth/logout")
    session.close()


def login_from_task(master_address: str, cert: Optional[certs.Cert]) -> TaskSession:
    """Return a session with the token that the platform gave this task.

    Example: ``session = authentication.login_from_task(det.get_cluster_info().master_url, None)``
    """
    token = os.environ.get("DET_SESSION_TOKEN")
    if not token:
        raise ValueError("DET_SESSION_TOKEN is not set: only tasks have it")
    return TaskSession(master_address, os.environ.get("DET_USER", ""), token, cert)


def get_det_username_from_env() -> Optional[str]:
    """Return ``DET_USER``: in a task, its owner.

    Example: ``owner = authentication.get_det_username_from_env()``
    """
    return os.environ.get("DET_USER")


def get_det_user_token_from_env() -> Optional[str]:
    """Return ``DET_USER_TOKEN``: a token of the task's owner, or None if the task has none.

    Example: ``token = authentication.get_det_user_token_from_env()``
    """
    return os.environ.get("DET_USER_TOKEN")


def get_det_password_from_env() -> Optional[str]:
    """Return ``DET_PASS``: the password that goes with ``DET_USER``.

    Example: ``password = authentication.get_det_password_from_env()``
    """
    return os.environ.get("DET_PASS")


def get_det_session_token_from_env() -> Optional[str]:
    """Return ``DET_SESSION_TOKEN``: the token that the platform gave this task.

    Example: ``token = authentication.get_det_session_token_from_env()``
    """
    return os.environ.get("DET_SESSION_TOKEN")
