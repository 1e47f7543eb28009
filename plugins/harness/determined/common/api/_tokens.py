"""The sessions of a person on this machine, as ``det`` keeps them.

``det user login`` writes ``~/.config/determined/auth.json``; here it is only read, so that a
script may go on with the session of whoever runs it.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import sys
from typing import Any, Dict, Optional

from determined.common.api._url import canonicalize_master_url

logger = logging.getLogger("determined.api")

# The newest form of the file that is known.
VERSION = 2


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
    """The sessions with one master."""

    def __init__(self, master: str, path: Optional[pathlib.Path] = None) -> None:
        self._master = master
        self._path = path or config_dir() / "auth.json"
        entry = self._read()
        self.active_user: Optional[str] = entry.get("active_user")
        self._tokens: Dict[str, str] = entry.get("tokens") or {}

    def token(self, user: str) -> Optional[str]:
        """Return the token of a user who has signed in, else None."""
        return self._tokens.get(user)

    def _read(self) -> Dict[str, Any]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return self._entry(document)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError) as err:
            logger.warning("%s is ignored, because it cannot be read: %s", self._path, err)
            return {}

    def _entry(self, document: Dict[str, Any]) -> Dict[str, Any]:
        version = int(document.get("version", 0))
        if version > VERSION:
            raise ValueError(f"the file has version {version}, which this package does not know")
        if version == 0:
            # It knew one master, and did not say which.
            return document
        for address, entry in document.get("masters", {}).items():
            try:
                canonical = canonicalize_master_url(address.rstrip("/"))
            except ValueError:
                continue
            if canonical == self._master and isinstance(entry, dict):
                return entry
        return {}
