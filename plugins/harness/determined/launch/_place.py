"""The node of a launcher among the nodes of the trial, and the port of the workers."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple

import determined as det


class Place(NamedTuple):
    """This node among the nodes of the trial."""

    chief: str
    node: int
    slots: List[int]

    @property
    def size(self) -> int:
        """The number of workers on all nodes."""
        return sum(self.slots)

    @property
    def chief_address(self) -> str:
        """The address of the chief's node for the workers."""
        return "127.0.0.1" if len(self.slots) == 1 else self.chief


def place_of(info: det.ClusterInfo) -> Place:
    """Return the place of this node; a node without slots also has one worker."""
    slots = [max(1, count) for count in info.container_slot_counts]
    return Place(info.container_addrs[0], info.container_rank, slots)


def here() -> Place:
    """Return the place of this process; off the cluster there is one worker."""
    info = det.get_cluster_info()
    return place_of(info) if info is not None else Place("127.0.0.1", 0, [1])


def port() -> int:
    """Return the port for the workers' traffic, which the platform chooses."""
    return int(os.environ.get("C10D_PORT") or "29400")


def network(place: Place) -> Dict[str, str]:
    """Return the variables with which NCCL and gloo use the cluster's dtrain_network_interface.

    Without one, gloo uses the address to which the node's own host name resolves.
    """
    interface = os.environ.get("DET_INTER_NODE_NETWORK_INTERFACE")
    if not interface or len(place.slots) == 1:
        return {}
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
    return {name: interface for name in names if name not in os.environ}
