"""Where a launcher is: its node among those of the trial, and the port of the workers."""

from __future__ import annotations

import os
from typing import List, NamedTuple

import determined as det


class Place(NamedTuple):
    """This node among those of the trial."""

    chief: str
    node: int
    slots: List[int]

    @property
    def size(self) -> int:
        """How many workers there are on all nodes."""
        return sum(self.slots)

    @property
    def chief_address(self) -> str:
        """Where the workers find the chief's node."""
        return "127.0.0.1" if len(self.slots) == 1 else self.chief


def place_of(info: det.ClusterInfo) -> Place:
    """Return where this node is; a node without slots has one worker all the same."""
    slots = [max(1, count) for count in info.container_slot_counts]
    return Place(info.container_addrs[0], info.container_rank, slots)


def here() -> Place:
    """Return the place of this process; off the cluster there is one worker."""
    info = det.get_cluster_info()
    return place_of(info) if info is not None else Place("127.0.0.1", 0, [1])


def port() -> int:
    """Return the port of the workers' own traffic, which the platform chooses."""
    return int(os.environ.get("C10D_PORT") or "29400")
