"""Messages between the workers of one job: a star of TCP connections around a chief.

The chief's ``Hub`` listens, each worker's ``Spoke`` connects. Both sides prove that they know
the job's key before a byte is unpickled, and every later message is authenticated with a key
of that connection, so nobody else on the network can join, replace messages, or
make a worker run code. The contents of large arrays travel behind their message without being
copied, with an authentication of their own on the network; between two processes of one machine
the kernel lets nobody else write. Every message has the name and the number of its collective:
if workers make different calls, they get an error instead of each other's data.

A peer that ends closes its connection. If a machine disappears, TCP keepalive detects it
within about a minute and a half. Without a timeout, a collective waits for a live peer without
limit, and logs from time to time that it waits.

Workers of one machine meet at a Unix socket in Linux's abstract namespace, named after the job, so
that two jobs on one machine need no ports of their own; others meet at the chief's port.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import math
import os
import pickle
import socket
import struct
import sys
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from determined.errors import CommunicationError, CommunicationTimeout

logger = logging.getLogger("determined.core")

_MAGIC = b"detent/2"
_NONCE_BYTES = 32
_MAC_BYTES = 32
_RANK = struct.Struct("!I")
_LENGTH = struct.Struct("!Q")
_COUNTER = struct.Struct("!Q")
_COUNT = struct.Struct("!I")

# From this size on, the contents of an array are sent as they are, instead of within the pickle.
LARGE_BYTES = 1 << 16

# So much is sent, received and authenticated at a time, while the peer works on what came before.
_PART = 1 << 19

# An unknown program that connects and sends nothing delays the chief for at most this time.
_HANDSHAKE_TIMEOUT = 5.0

_ACCEPTED = b"accepted"
_REFUSED = b"refused!"

# How often a waiting collective logs the rank for which it waits.
REMIND_SECONDS = 600.0

KEEPALIVE_IDLE = 30
KEEPALIVE_INTERVAL = 10
KEEPALIVE_PROBES = 6


class Deadline:
    """A moment on the monotonic clock at which waiting ends; with infinity it never ends."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds left; raise CommunicationTimeout if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise CommunicationTimeout(f"nothing came within {self.seconds:g} s")
        return left

    def expired(self) -> bool:
        """Return whether the moment has passed."""
        return time.monotonic() >= self._end


def _mac(key: bytes, *parts: bytes) -> bytes:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return mac.digest()


class Link:
    """An authenticated connection to the peer of one rank."""

    def __init__(self, sock: socket.socket, rank: int, key: bytes, chief_side: bool) -> None:
        self.rank = rank
        self._sock = sock
        self._key = key
        self._send_as = b"chief" if chief_side else b"worker"
        self._recv_as = b"worker" if chief_side else b"chief"
        self._sent = 0
        self._received = 0

    def send(self, obj: Any, deadline: Deadline) -> None:
        """Send one object."""
        contents: List[memoryview] = []

        def small(buffer: pickle.PickleBuffer) -> bool:
            with buffer.raw() as raw:
                if raw.nbytes < LARGE_BYTES:
                    return True
            contents.append(buffer.raw())
            return False

        message = pickle.dumps(obj, protocol=5, buffer_callback=small)
        sizes = struct.pack(f"!{len(contents)}Q", *(each.nbytes for each in contents))
        payload = _COUNT.pack(len(contents)) + sizes + message
        mac = _mac(self._key, self._send_as, _COUNTER.pack(self._sent), payload)
        with self._explained():
            left = deadline.remaining()
            self._sock.settimeout(None if math.isinf(left) else left)
            self._sock.sendall(_LENGTH.pack(len(payload)) + mac)
            self._sock.sendall(payload)
            if contents:
                seal = self._seal(self._send_as, self._sent)
                for each in contents:
                    for start in range(0, each.nbytes, _PART):
                        part = each[start : start + _PART]
                        self._sock.sendall(part)
                        seal.update(part)
                self._sock.sendall(seal.digest())
        self._sent += 1

    def recv(self, deadline: Deadline) -> Any:
        """Receive one object."""
        with self._explained():
            who = f"rank {self.rank}"
            head = _recv_exactly(self._sock, _LENGTH.size + _MAC_BYTES, deadline, who)
            (length,) = _LENGTH.unpack(head[: _LENGTH.size])
            payload = _recv_exactly(self._sock, length, deadline, who)
        mac = _mac(self._key, self._recv_as, _COUNTER.pack(self._received), payload)
        self._check(mac, head[_LENGTH.size :])
        (count,) = _COUNT.unpack_from(payload)
        message = _COUNT.size + count * _LENGTH.size
        sizes = struct.unpack_from(f"!{count}Q", payload, _COUNT.size)
        contents = self._recv_contents(sizes, deadline) if count else []
        self._received += 1
        return pickle.loads(memoryview(payload)[message:], buffers=contents)

    def _recv_contents(self, sizes: Tuple[int, ...], deadline: Deadline) -> List[bytearray]:
        contents = []
        seal = self._seal(self._recv_as, self._received)
        with self._explained():
            who = f"rank {self.rank}"
            for size in sizes:
                each = bytearray(size)
                with memoryview(each) as view:
                    for start in range(0, size, _PART):
                        part = view[start : start + _PART]
                        _recv_into(self._sock, part, deadline, who)
                        seal.update(part)
                contents.append(each)
            theirs = _recv_exactly(self._sock, _MAC_BYTES, deadline, who)
        self._check(seal.digest(), theirs)
        return contents

    def _check(self, mac: bytes, theirs: bytes) -> None:
        if not hmac.compare_digest(mac, theirs):
            raise CommunicationError(f"a message from rank {self.rank} was changed on its way")

    def _seal(self, who: bytes, number: int) -> Any:
        """Return what authenticates the contents of a message on a network."""
        seal = hmac.new(self._key, digestmod=hashlib.sha256)
        seal.update(b"contents of " + who + _COUNTER.pack(number))
        return seal if self._sock.family != socket.AF_UNIX else _Among(seal.digest())

    @contextlib.contextmanager
    def _explained(self) -> Any:
        try:
            yield
        except CommunicationTimeout as err:
            raise CommunicationTimeout(f"waiting for rank {self.rank}: {err}") from None
        except socket.timeout:
            raise CommunicationTimeout(f"rank {self.rank} did not answer in time") from None
        except (EOFError, OSError) as err:
            reason = str(err) or type(err).__name__
            raise CommunicationError(
                f"lost the connection to rank {self.rank} ({reason}); its own log has the reason"
            ) from err

    def close(self) -> None:
        """End the connection; sent messages still arrive."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
        self._sock.close()


class _Among:
    """Stands for a seal between processes of one machine: only the peer could write."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest

    def update(self, part: Any) -> None:
        """Leave the part as it is."""

    def digest(self) -> bytes:
        """Return what both sides know."""
        return self._digest


def _recv_exactly(sock: socket.socket, count: int, deadline: Deadline, who: str = "") -> bytes:
    """Receive so many bytes; the memory for them grows as they come."""
    chunks = []
    left = count
    while left > 0:
        chunk = bytearray(min(left, 1 << 20))
        with memoryview(chunk) as view:
            _recv_into(sock, view, deadline, who)
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _recv_into(sock: socket.socket, room: memoryview, deadline: Deadline, who: str) -> None:
    waited = 0.0
    done = 0
    while done < len(room):
        pause = min(deadline.remaining(), REMIND_SECONDS)
        sock.settimeout(pause)
        try:
            got = sock.recv_into(room[done:])
        except socket.timeout:
            deadline.remaining()
            waited += pause
            logger.warning("waiting for %s for %.0f s now", who or "a worker", waited)
            continue
        if not got:
            raise EOFError("it closed the connection")
        done += got


def _prepare(sock: socket.socket) -> None:
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
    ):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Meeting(NamedTuple):
    """The address at which workers connect: a port of a host, or on one machine a socket's name."""

    host: str = ""
    port: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"the socket {self.name}" if self.name else f"{self.host}:{self.port}"

    def listen(self, size: int) -> socket.socket:
        """Listen; without a host, on every IPv4 and IPv6 address."""
        if self.name:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.bind("\0" + self.name)
                sock.listen(size)
            except BaseException:
                sock.close()
                raise
            return sock
        if self.host or not socket.has_dualstack_ipv6():
            return socket.create_server((self.host, self.port), backlog=size)
        return socket.create_server(
            (self.host, self.port), family=socket.AF_INET6, backlog=size, dualstack_ipv6=True
        )

    def connect(self, timeout: float) -> socket.socket:
        """Connect; raise OSError if nobody listens yet."""
        if not self.name:
            return socket.create_connection((self.host, self.port), timeout=timeout)
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(timeout)
            sock.connect("\0" + self.name)
        except BaseException:
            sock.close()
            raise
        return sock


def names_work() -> bool:
    """Return whether the system supports sockets with names that are no files."""
    return sys.platform == "linux"


class Group:
    """Workers that call the same collectives in the same order; rank 0 is their chief."""

    def __init__(self, rank: int, timeout: float) -> None:
        self.rank = rank
        self._timeout = timeout
        self._calls = 0

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Collect the objects of all workers at the chief; the others get None."""
        raise NotImplementedError

    def allgather(self, stuff: Any) -> List[Any]:
        """Collect the objects of all workers at every worker."""
        raise NotImplementedError

    def broadcast(self, stuff: Any) -> Any:
        """Return the chief's object at every worker."""
        raise NotImplementedError

    def close(self) -> None:
        """End the connections."""
        raise NotImplementedError

    def _begin(self, name: str) -> Tuple[Tuple[str, int], Deadline]:
        self._calls += 1
        return (name, self._calls), Deadline(self._timeout)

    def _check(self, call: Tuple[str, int], theirs: Tuple[str, int], rank: int) -> None:
        if call != theirs:
            raise CommunicationError(
                f"the workers are out of step: rank {self.rank} called {call[0]}() as its "
                f"collective number {call[1]}, rank {rank} called {theirs[0]}() as its number "
                f"{theirs[1]}. Every worker must make the same calls in the same order."
            )


class Hub(Group):
    """The chief's side."""

    def __init__(self, place: Meeting, size: int, key: bytes, timeout: float) -> None:
        super().__init__(0, timeout)
        self._size = size
        self._key = key
        self._links: Dict[int, Link] = {}
        try:
            self._listener = place.listen(size)
        except OSError as err:
            if place.name:
                raise CommunicationError(
                    f"another process of this machine listens on {place} already: {err}. Is there "
                    "another rank 0 of this job, or another job of the same DET_ALLOCATION_ID and "
                    "MASTER_PORT?"
                ) from err
            raise CommunicationError(
                f"the chief cannot listen on port {place.port} of "
                f"{place.host or 'every address'}: {err}. "
                "Set INTER_TRAIN_PROCESS_COMM_PORT_1 to a free port, the same for every worker."
            ) from err
        self.port: int = 0 if place.name else self._listener.getsockname()[1]
        self._place = place if place.name else Meeting(place.host, self.port)

    def join(self, timeout: float) -> None:
        """Wait until every worker has connected, then tell all workers."""
        deadline = Deadline(timeout)
        try:
            while len(self._links) < self._size - 1:
                self._accept(deadline)
            for link in self._links.values():
                link.send(_ACCEPTED, deadline)
        except CommunicationTimeout:
            missing = sorted(set(range(1, self._size)) - set(self._links))
            self.close()
            raise CommunicationTimeout(
                f"the chief waited {timeout:g} s at {self._place}, but of {self._size - 1} "
                f"other workers these did not come: ranks {missing}"
            ) from None
        except BaseException:
            self.close()
            raise
        self._listener.close()

    def _accept(self, deadline: Deadline) -> None:
        self._listener.settimeout(deadline.remaining())
        try:
            sock, _ = self._listener.accept()
        except socket.timeout:
            deadline.remaining()
            return
        patience = Deadline(min(_HANDSHAKE_TIMEOUT, deadline.remaining()))
        try:
            _prepare(sock)
            link = self._greet(sock, patience)
        except (CommunicationError, EOFError, OSError):
            # An unknown program, or a worker that gave up; a worker tries again.
            sock.close()
            return
        previous = self._links.get(link.rank)
        if previous is not None:
            previous.close()
        self._links[link.rank] = link

    def _greet(self, sock: socket.socket, deadline: Deadline) -> Link:
        nonce = os.urandom(_NONCE_BYTES)
        sock.settimeout(deadline.remaining())
        sock.sendall(_MAGIC + nonce)
        size = len(_MAGIC) + _RANK.size + _NONCE_BYTES + _MAC_BYTES
        hello = _recv_exactly(sock, size, deadline)
        said, proof = hello[:-_MAC_BYTES], hello[-_MAC_BYTES:]
        (rank,) = _RANK.unpack(said[len(_MAGIC) : len(_MAGIC) + _RANK.size])
        known = hmac.compare_digest(_mac(self._key, b"worker", nonce, said), proof)
        if not known or not said.startswith(_MAGIC) or not 0 < rank < self._size:
            sock.sendall(_REFUSED + bytes(_MAC_BYTES))
            raise CommunicationError("refused")
        sock.sendall(_ACCEPTED + _mac(self._key, b"chief", nonce, said))
        return Link(sock, rank, _mac(self._key, b"link", nonce, said), chief_side=True)

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Collect the objects of all workers at the chief; the others continue at once."""
        call, deadline = self._begin("gather")
        gathered = self._collect(call, stuff, deadline)
        self._tell(call, None, deadline)
        return gathered

    def allgather(self, stuff: Any) -> List[Any]:
        """Collect the objects of all workers, and send all of them to each worker."""
        call, deadline = self._begin("allgather")
        gathered = self._collect(call, stuff, deadline)
        self._tell(call, gathered, deadline)
        return gathered

    def broadcast(self, stuff: Any) -> Any:
        """Return the chief's object on every worker."""
        call, deadline = self._begin("broadcast")
        self._tell(call, stuff, deadline)
        return stuff

    def _collect(self, call: Tuple[str, int], stuff: Any, deadline: Deadline) -> List[Any]:
        gathered = [stuff]
        for rank in range(1, self._size):
            theirs, value = self._links[rank].recv(deadline)
            self._check(call, theirs, rank)
            gathered.append(value)
        return gathered

    def _tell(self, call: Tuple[str, int], value: Any, deadline: Deadline) -> None:
        for rank in range(1, self._size):
            self._links[rank].send((call, value), deadline)

    def close(self) -> None:
        """Stop listening and end the connections."""
        self._listener.close()
        for link in self._links.values():
            link.close()
        self._links = {}


class Spoke(Group):
    """A worker's side."""

    def __init__(self, place: Meeting, rank: int, key: bytes, timeout: float) -> None:
        super().__init__(rank, timeout)
        self._place = place
        self._key = key
        self._link: Optional[Link] = None

    def join(self, timeout: float) -> None:
        """Connect to the chief, which may start later, and wait until all workers have."""
        deadline = Deadline(timeout)
        self._link = self._connect(deadline)
        if self._link.recv(deadline) != _ACCEPTED:
            raise CommunicationError("the chief's first message is not the expected one")

    def _connect(self, deadline: Deadline) -> Link:
        pause = 0.05
        while True:
            try:
                return self._try(deadline)
            except (EOFError, OSError) as err:
                if isinstance(err, CommunicationTimeout) or deadline.expired():
                    raise CommunicationTimeout(
                        f"rank {self.rank} could not reach the chief at {self._place} within "
                        f"{deadline.seconds:g} s: {err}"
                    ) from err
            time.sleep(min(pause, max(0.0, deadline.seconds)))
            pause = min(1.0, pause * 2)

    def _try(self, deadline: Deadline) -> Link:
        patience = min(_HANDSHAKE_TIMEOUT, deadline.remaining())
        sock = self._place.connect(patience)
        try:
            if not self._place.name and sock.getsockname() == sock.getpeername():
                # Nobody listens yet, and the kernel chose the same port for this end.
                raise ConnectionRefusedError("connected to itself")
            _prepare(sock)
            # The chief accepts one worker after another, so this worker may have to wait.
            greeting = _recv_exactly(sock, len(_MAGIC) + _NONCE_BYTES, deadline)
            nonce = greeting[len(_MAGIC) :]
            if not greeting.startswith(_MAGIC):
                raise CommunicationError(self._stranger("speaks another protocol"))
            said = _MAGIC + _RANK.pack(self.rank) + os.urandom(_NONCE_BYTES)
            sock.sendall(said + _mac(self._key, b"worker", nonce, said))
            verdict = _recv_exactly(sock, len(_ACCEPTED) + _MAC_BYTES, deadline)
            if not verdict.startswith(_ACCEPTED):
                raise CommunicationError(self._stranger(f"refused rank {self.rank}"))
            proof = _mac(self._key, b"chief", nonce, said)
            if not hmac.compare_digest(proof, verdict[len(_ACCEPTED) :]):
                raise CommunicationError(self._stranger("does not know this job's key"))
            return Link(sock, 0, _mac(self._key, b"link", nonce, said), chief_side=False)
        except BaseException:
            sock.close()
            raise

    def _stranger(self, what: str) -> str:
        return (
            f"what listens at {self._place} {what}, so it is not the chief of this job: check "
            "the chief's address, INTER_TRAIN_PROCESS_COMM_PORT_1, and that every worker has "
            "the same rank numbering and the same session token"
        )

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Send an object to the chief, and wait until the chief has the objects of all workers."""
        self._exchange("gather", stuff)
        return None

    def allgather(self, stuff: Any) -> List[Any]:
        """Send an object to the chief, and receive the objects of all workers."""
        gathered: List[Any] = self._exchange("allgather", stuff)
        return gathered

    def broadcast(self, stuff: Any) -> Any:
        """Receive the chief's object; this worker's is ignored."""
        call, deadline = self._begin("broadcast")
        return self._hear(call, deadline)

    def _exchange(self, name: str, stuff: Any) -> Any:
        call, deadline = self._begin(name)
        self._joined().send((call, stuff), deadline)
        return self._hear(call, deadline)

    def _hear(self, call: Tuple[str, int], deadline: Deadline) -> Any:
        theirs, value = self._joined().recv(deadline)
        self._check(call, theirs, 0)
        return value

    def _joined(self) -> Link:
        if self._link is None:
            raise CommunicationError("the connection to the chief is closed")
        return self._link

    def close(self) -> None:
        """End the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None
