"""The sessions of a user on this machine, which ``det`` stores.

``det user login`` writes ``~/.config/determined/auth.json``, and scripts of the same account use
this session. Determined's programs read and write the same file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import pathlib
import sys
import tempfile
import time
from typing import Any, Dict, Iterator, List, Optional

from determined.common.api import errors
from determined.common.api._url import canonicalize_master_url

logger = logging.getLogger("determined.api")

# The newest version of the file that this package can read.
VERSION = 2

# Other programs hold the lock of the file for milliseconds.
LOCK_SECONDS = 10


def config_dir() -> pathlib.Path:
    """Return the folder of ``det``'s own files."""
    if os.environ.get("DET_DEBUG_CONFIG_PATH"):
        return pathlib.Path(os.environ["DET_DEBUG_CONFIG_PATH"])
    if sys.platform == "darwin":
        base = pathlib.Path.home() / "Library" / "Application Support"
    else:
        base = pathlib.Path(os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config")
    return base / "determined"


class TokenStore:
    """The sessions with one master.

    Example::

        store = TokenStore("http://master:8080")
        token = store.get_token(store.get_active_user())
    """

    def __init__(self, master_address: str, path: Optional[pathlib.Path] = None) -> None:
        self.master_address = master_address
        self.path = path or config_dir() / "auth.json"
        try:
            self._take(self._load())
        except FileNotFoundError:
            self._take({})
        except (OSError, ValueError, AttributeError, TypeError) as err:
            logger.warning("%s is ignored, because it cannot be read: %s", self.path, err)
            self._take({})

    def get_active_user(self) -> Optional[str]:
        """Return the user who signed in last; example: ``store.get_active_user()``."""
        return self._active_user

    def get_all_users(self) -> List[str]:
        """Return all users who have a session; example: ``store.get_all_users()``."""
        return list(self._tokens)

    def get_token(self, user: str) -> Optional[str]:
        """Return the token of a user who has a session; example: ``store.get_token("ann")``."""
        return self._tokens.get(user)

    def set_token(self, username: str, token: str) -> None:
        """Store a session; example: ``store.set_token("ann", session.token)``."""
        with self._changed() as entry:
            entry.setdefault("tokens", {})[username] = token

    def drop_user(self, username: str) -> None:
        """Forget a session; example: ``store.drop_user("ann")``."""
        with self._changed() as entry:
            entry.setdefault("tokens", {}).pop(username, None)

    def set_active(self, username: str) -> None:
        """Let programs act as a user who has a session; example: ``store.set_active("ann")``."""
        with self._changed() as entry:
            if username not in (entry.get("tokens") or {}):
                raise errors.UnauthenticatedException(
                    f"user {username!r} has no session at {self.master_address}: sign in with "
                    f"'det user login {username}'"
                )
            entry["active_user"] = username

    def clear_active(self) -> None:
        """Set no active user; example: ``store.clear_active()``."""
        with self._changed() as entry:
            entry.pop("active_user", None)

    def delete_token_cache(self) -> None:
        """Forget the sessions with all masters; example: ``store.delete_token_cache()``."""
        with self._locked(), contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self._take({})

    # The file.

    def _load(self) -> Dict[str, Any]:
        """Return the contents of the file in the newest version."""
        document = json.loads(self.path.read_text(encoding="utf-8"))
        version = int(document.get("version", 0))
        if version > VERSION:
            raise ValueError(f"the file has version {version}, which this package does not know")
        if version == 0:
            # The oldest version has the sessions of one master, whose address it does not contain.
            return {"version": VERSION, "masters": {self.master_address: document}}
        masters: Dict[str, Any] = {}
        for address, entry in document.get("masters", {}).items():
            if not isinstance(entry, dict):
                continue
            with contextlib.suppress(ValueError):
                masters.setdefault(canonicalize_master_url(address.rstrip("/")), entry)
        return {**document, "version": VERSION, "masters": masters}

    def _take(self, document: Dict[str, Any]) -> None:
        entry = document.get("masters", {}).get(self.master_address, {})
        self._active_user: Optional[str] = entry.get("active_user")
        self._tokens: Dict[str, str] = dict(entry.get("tokens") or {})

    @contextlib.contextmanager
    def _changed(self) -> Iterator[Dict[str, Any]]:
        """Provide the master's part of the file for changes, and write it afterwards."""
        with self._locked():
            try:
                document = self._load()
            except FileNotFoundError:
                document = {"version": VERSION}
            except (ValueError, AttributeError, TypeError) as err:
                raise errors.CorruptTokenCacheException(
                    f"the file of sessions {self.path} is damaged ({err}): delete it, and sign in "
                    "again with 'det user login'"
                ) from err
            yield document.setdefault("masters", {}).setdefault(self.master_address, {})
            self._write(document)
            self._take(document)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the file against changes by other programs."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = f"{self.path}.lock"
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait_for_lock(descriptor, lock)
            yield
        finally:
            os.close(descriptor)

    def _write(self, document: Dict[str, Any]) -> None:
        # Readers take no lock: the file is only ever replaced whole.
        descriptor, name = tempfile.mkstemp(prefix="auth.json.", dir=self.path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=4, sort_keys=True)
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise


def _wait_for_lock(descriptor: int, path: str) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"another program holds {path}") from None
        time.sleep(0.01)
