"""Merges the parts of a sharded checkpoint: pure functions over the files of each rank."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Tuple

Conflicts = Dict[str, List[int]]


def merge_metadata(all_metadata: List[Dict[str, Any]]) -> Tuple[Dict[str, Any], Conflicts]:
    """Merge the metadata of all ranks, map by map.

    Two ranks conflict at a key to which they give different values, unless both are maps, which
    are merged in turn. Returns the merged metadata, and for each key in conflict, as a path from
    the root, the ranks that give it.
    """
    merged: Dict[str, Any] = {}
    conflicts: Conflicts = {}
    givers: Dict[str, List[int]] = {}
    for rank, metadata in enumerate(all_metadata):
        _merge_into(merged, metadata, rank, "", givers, conflicts)
    return merged, conflicts


def _merge_into(
    merged: Dict[str, Any],
    metadata: Dict[str, Any],
    rank: int,
    prefix: str,
    givers: Dict[str, List[int]],
    conflicts: Conflicts,
) -> None:
    for key, value in metadata.items():
        path = f"{prefix}/{key}"
        givers.setdefault(path, []).append(rank)
        if key not in merged:
            merged[key] = {} if isinstance(value, dict) else value
        elif isinstance(merged[key], dict) != isinstance(value, dict) or (
            not isinstance(value, dict) and merged[key] != value
        ):
            conflicts[path] = list(givers[path])
            continue
        if isinstance(value, dict):
            _merge_into(merged[key], value, rank, path, givers, conflicts)


def merge_resources(all_resources: List[Dict[str, int]]) -> Tuple[Dict[str, int], Conflicts]:
    """Merge the files of all ranks.

    Directories, which end with a slash, may be shared. Returns the merged files with their
    sizes, and for each name that is a file of one rank and anything of another, the ranks.
    """
    merged: Dict[str, int] = {}
    givers: Dict[str, List[int]] = {}
    files = set()
    for rank, resources in enumerate(all_resources):
        for name, size in resources.items():
            merged[name] = size
            givers.setdefault(name.rstrip(os.sep), []).append(rank)
            if not name.endswith(os.sep):
                files.add(name)
    return merged, {name: givers[name] for name in files if len(givers[name]) > 1}


def conflict_error(conflicts: Conflicts, what: str, rank: int) -> RuntimeError:
    """Return the error for conflicts; only the chief's error lists all, to keep the log short."""
    if rank > 0:
        return RuntimeError(f"refusing to upload with {what} conflicts: {conflicts}")
    lines = [f"    {name} uploaded by ranks {ranks}" for name, ranks in sorted(conflicts.items())]
    return RuntimeError(f"refusing to upload with {what} conflicts:\n" + "\n".join(lines))
