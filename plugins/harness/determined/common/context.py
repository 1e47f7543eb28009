"""Reads a folder of training code for submission with an experiment."""

from __future__ import annotations

import base64
import fnmatch
import os
import pathlib
import re
import stat
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

# The master's limit.
MAX_BYTES = 95 * 1024 * 1024

IGNORE_FILE = ".detignore"

# The type numbers of files and folders in tar.
_FILE, _DIRECTORY = 48, 53


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    ignore: bool
    directories_only: bool


class IgnoreRules:
    r"""The rules of a ``.detignore``, which are written like those of a ``.gitignore``.

    Example:

        >>> rules = IgnoreRules("*.log\n!keep.log\ndata/\n")
        >>> [rules.match(name, False) for name in ("train.log", "keep.log")]
        [True, False]
        >>> rules.match("data", is_directory=True)
        True
    """

    def __init__(self, text: str) -> None:
        self._rules: List[_Rule] = []
        for line in text.splitlines():
            stripped = line.rstrip()
            if not stripped or stripped.startswith("#"):
                continue
            ignore = not stripped.startswith("!")
            body = stripped if ignore else stripped[1:]
            only = body.endswith("/")
            self._rules.append(_Rule(_pattern(body.rstrip("/")), ignore, only))

    def match(self, path: str, is_directory: bool) -> bool:
        """Return whether a path below the folder is ignored; the last matching rule decides."""
        ignored = False
        for rule in self._rules:
            if (is_directory or not rule.directories_only) and rule.pattern.fullmatch(path):
                ignored = rule.ignore
        return ignored


def _pattern(body: str) -> re.Pattern[str]:
    anchored = "/" in body
    parts = body.lstrip("/").split("/")
    regex = "" if anchored else "(?:.*/)?"
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            regex += ".*" if last else "(?:.*/)?"
            continue
        # A star does not match a slash, unlike in fnmatch.
        translated = fnmatch.translate(part).replace("(?s:", "(?:").replace(".*", "[^/]*")
        regex += re.sub(r"\\[Zz]$", "", translated) + ("" if last else "/")
    return re.compile(regex)


def read(
    root: pathlib.Path, includes: Iterable[pathlib.Path] = (), limit: int = MAX_BYTES
) -> List[Dict[str, Any]]:
    """Return the files below root, and the included files and folders, in the API's form.

    An included path appears under its last name. If root is a file, the result is this file.

    Example: ``names = [file["path"] for file in read(pathlib.Path("."))]``
    """
    found: List[Tuple[str, pathlib.Path]] = list(_below(root))
    for include in includes:
        if include.is_dir():
            found.append((include.name, include))
            found.extend((f"{include.name}/{name}", path) for name, path in _below(include))
        else:
            found.append((include.name, include))
    files: Dict[str, Dict[str, Any]] = {}
    total = 0
    for name, path in found:
        if name in files:
            raise ValueError(f"two files of the submitted code are called {name}")
        files[name] = _file(name, path)
        total += path.stat().st_size if path.is_file() else 0
        if total > limit:
            raise ValueError(
                f"the code below {root} is larger than {limit // 2**20} MB; name what is not "
                f"needed in {root / IGNORE_FILE}, and bring data by bind_mounts"
            )
    return list(files.values())


def _below(root: pathlib.Path) -> Iterator[Tuple[str, pathlib.Path]]:
    if root.is_file():
        yield root.name, root
        return
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is neither a folder nor a file")
    ignore_file = root / IGNORE_FILE
    rules = IgnoreRules(ignore_file.read_text(encoding="utf-8") if ignore_file.exists() else "")
    for current, directories, names in os.walk(root, followlinks=True):
        place = pathlib.Path(current)
        kept = []
        for name in sorted(directories):
            relative = (place / name).relative_to(root).as_posix()
            if name == "__pycache__" or rules.match(relative, is_directory=True):
                continue
            kept.append(name)
            yield relative, place / name
        directories[:] = kept
        for name in sorted(names):
            relative = (place / name).relative_to(root).as_posix()
            if name != IGNORE_FILE and not rules.match(relative, is_directory=False):
                yield relative, place / name


def _file(name: str, path: pathlib.Path) -> Dict[str, Any]:
    state = path.stat()
    directory = stat.S_ISDIR(state.st_mode)
    content = b"" if directory else path.read_bytes()
    return {
        "path": name,
        "type": _DIRECTORY if directory else _FILE,
        "content": base64.b64encode(content).decode("ascii"),
        "mtime": str(int(state.st_mtime)),
        "mode": state.st_mode,
        "uid": 0,
        "gid": 0,
    }


def read_optional(
    root: Optional[pathlib.Path], includes: Iterable[pathlib.Path]
) -> Optional[List[Dict[str, Any]]]:
    """Return the code below root, or None where there is no root and nothing is included.

    Example: ``files = read_optional(None, [pathlib.Path("helpers.py")])``
    """
    if root is not None:
        return read(root, includes)
    listed = list(includes)
    if not listed:
        return None
    return [item for path in listed for item in read(path)]
