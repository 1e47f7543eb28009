import contextlib
import functools
import math
import multiprocessing
import pathlib
import pickle
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Tuple

import pytest

from determined import core
from determined.core import _comm, _distributed
from determined.core._distributed import _job_key
from determined.errors import CommunicationError, CommunicationTimeout
from tests import workers
from tests.ranks import errors_of_ranks, free_port, run_ranks
from tests.stub_master import DEADLINE

KEY = b"k" * 32
HERE = _comm.Meeting("127.0.0.1")


def at(port: int) -> _comm.Meeting:
    return _comm.Meeting("127.0.0.1", port)


def run_processes(
    work: Callable[..., None], size: int, local_size: int, expected: int
) -> Dict[int, Any]:
    """Run work in a process per rank, and return the results of as many as are expected."""
    spawn = multiprocessing.get_context("spawn")
    results: Any = spawn.Queue()
    port = free_port()
    processes = []
    for rank in range(size):
        env = {
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "LOCAL_RANK": str(rank % local_size),
            "LOCAL_WORLD_SIZE": str(local_size),
            "GROUP_RANK": str(rank // local_size),
            "GROUP_WORLD_SIZE": str(size // local_size),
            "DET_CHIEF_IP": "127.0.0.1",
            "DET_SESSION_TOKEN": "token",
        }
        # The port is read when the package is imported, so set it before.
        process = spawn.Process(target=_with_port, args=(port, work, env, results))
        process.start()
        processes.append(process)
    got = dict(results.get(timeout=2 * DEADLINE) for _ in range(expected))
    for process in processes:
        process.join(DEADLINE)
        assert not process.is_alive()
    return got


def _with_port(port: int, work: Callable[..., None], env: Dict[str, str], results: Any) -> None:
    constructor = core.DistributedContext.__init__
    core.DistributedContext.__init__ = functools.partialmethod(  # type: ignore[assignment]
        constructor, pub_port=port
    )
    work(env, results)


@pytest.mark.parametrize("local_size", [4, 2, 1], ids=["1 machine", "2 machines", "4 machines"])
def test_collectives_between_processes(local_size: int) -> None:
    size = 4
    got = run_processes(workers.collectives, size, local_size, size)
    assert sorted(got) == list(range(size))
    for rank, out in got.items():
        machine = rank - rank % local_size
        here = list(range(machine, machine + local_size))
        assert out == [
            list(range(size)) if rank == 0 else None,
            [{"rank": r} for r in range(size)],
            "from the chief",
            here if rank == machine else None,
            here,
            f"from local chief {machine}",
            list(range(size)),
            3_000_001,
            [(r, 49) for r in range(size)],
        ]


def test_killed_worker_is_named() -> None:
    got = run_processes(workers.die_before_the_second, 3, 3, 2)
    assert got[0].startswith("CommunicationError: lost the connection to rank 1")
    # The chief's failure ends its process, and with it the connection of the others.
    assert got[2].startswith("CommunicationError: lost the connection to rank 0")


def test_single_worker_needs_no_network() -> None:
    dist = core.DummyDistributedContext()
    thing = object()
    assert dist.gather(thing) == dist.allgather(thing) == [thing]
    assert dist.gather_local(thing) == dist.allgather_local(thing) == [thing]
    assert dist.broadcast(thing) is thing and dist.broadcast_local(thing) is thing
    assert (dist.get_rank(), dist.get_size(), dist.get_num_agents()) == (0, 1, 1)
    dist.close()


def test_out_of_step_is_an_error_on_both_sides() -> None:
    def work(dist: core.DistributedContext) -> None:
        dist.allgather(None)
        if dist.rank == 0:
            dist.gather(None)
        else:
            dist.allgather(None)

    errors = errors_of_ranks(work, 2)
    for err in errors:
        assert isinstance(err, CommunicationError)
    assert "rank 0 called gather() as its collective number 2" in str(errors[0])


def test_wrong_ranks() -> None:
    good: Dict[str, Any] = {
        "rank": 0,
        "size": 1,
        "local_rank": 0,
        "local_size": 1,
        "cross_rank": 0,
        "cross_size": 1,
    }
    with pytest.raises(ValueError, match="belong together"):
        core.DistributedContext(**{**good, "rank": None})
    with pytest.raises(ValueError, match=r"rank must be from 0 to size - 1, but rank=3, size=2"):
        core.DistributedContext(**{**good, "rank": 3, "size": 2})
    with pytest.raises(ValueError, match="chief_ip must be"):
        core.DistributedContext(**{**good, "size": 2, "cross_size": 2})
    nothing: Dict[str, Any] = dict.fromkeys(good)
    assert core.DistributedContext(**nothing).size == 1


def test_missing_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(ValueError, match="lacks LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK"):
        core.DistributedContext.from_torch_distributed()


def test_deepspeed_and_horovod(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
    for name, value in zip(names, "010101"):
        monkeypatch.setenv(name, value)
    assert core.DistributedContext.from_deepspeed().size == 1

    class Hvd:
        def __getattr__(self, name: str) -> Callable[[], int]:
            return lambda: 1 if name.endswith("size") else 0

    assert core.DistributedContext.from_horovod(Hvd()).rank == 0


def test_missing_worker_is_named() -> None:
    hub = _comm.Hub(HERE, 3, KEY, 1.0)
    spoke = _comm.Spoke(at(hub.port), 2, KEY, 1.0)
    failures: List[BaseException] = []

    def join() -> None:
        try:
            spoke.join(DEADLINE)
        except CommunicationError as err:
            failures.append(err)

    thread = threading.Thread(target=join)
    thread.start()
    with pytest.raises(CommunicationTimeout, match=r"these did not come: ranks \[1\]"):
        hub.join(0.5)
    thread.join(DEADLINE)
    assert "lost the connection to rank 0" in str(failures[0])


def test_missing_chief_is_named() -> None:
    port = free_port()
    spoke = _comm.Spoke(at(port), 1, KEY, 1.0)
    with pytest.raises(
        CommunicationTimeout, match=f"could not reach the chief at 127.0.0.1:{port}"
    ):
        spoke.join(0.3)


def test_silent_peer_ends_a_collective() -> None:
    hub = _comm.Hub(HERE, 2, KEY, 0.2)
    spoke = _comm.Spoke(at(hub.port), 1, KEY, 0.2)
    thread = threading.Thread(target=spoke.join, args=(DEADLINE,))
    thread.start()
    hub.join(DEADLINE)
    thread.join()
    with pytest.raises(CommunicationTimeout, match="rank 1"):
        hub.gather(None)
    with pytest.raises(CommunicationTimeout, match="rank 0"):
        spoke.broadcast(None)
    hub.close()
    spoke.close()


def test_other_key_is_refused() -> None:
    hub = _comm.Hub(HERE, 2, KEY, 1.0)
    stranger = _comm.Spoke(at(hub.port), 1, b"other" * 8, 1.0)
    refused: List[BaseException] = []

    def join() -> None:
        try:
            stranger.join(DEADLINE)
        except CommunicationError as err:
            refused.append(err)

    thread = threading.Thread(target=join)
    thread.start()
    with pytest.raises(CommunicationTimeout):
        hub.join(0.5)
    thread.join(DEADLINE)
    assert "refused rank 1, so it is not the chief of this job" in str(refused[0])


def test_false_chief_is_not_believed() -> None:
    """A process that answers at the port without the key must not send a worker pickles."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pretend() -> None:
        sock, _ = listener.accept()
        with sock:
            sock.sendall(_comm._MAGIC + bytes(32))
            sock.recv(1000)
            sock.sendall(b"accepted" + bytes(32) + pickle.dumps("boo"))
            with contextlib.suppress(ConnectionError):
                sock.recv(1)

    thread = threading.Thread(target=pretend)
    thread.start()
    spoke = _comm.Spoke(at(listener.getsockname()[1]), 1, KEY, 1.0)
    with pytest.raises(CommunicationError, match="does not know this job's key"):
        spoke.join(DEADLINE)
    thread.join(DEADLINE)
    listener.close()


def test_strangers_do_not_end_a_rendezvous() -> None:
    hub = _comm.Hub(HERE, 2, KEY, DEADLINE)
    joined = threading.Thread(target=hub.join, args=(DEADLINE,))
    joined.start()
    for rubbish in (b"", b"GET / HTTP/1.1\r\n\r\n" + bytes(100)):
        with socket.create_connection(("127.0.0.1", hub.port), timeout=DEADLINE) as sock:
            sock.sendall(rubbish)
    spoke = _comm.Spoke(at(hub.port), 1, KEY, DEADLINE)
    spoke.join(DEADLINE)
    joined.join(DEADLINE)
    assert not joined.is_alive()
    hub.broadcast("x")
    assert spoke.broadcast(None) == "x"
    hub.close()
    spoke.close()


def test_changed_message_is_refused() -> None:
    left, right = socket.socketpair()
    sender = _comm.Link(left, 0, KEY, chief_side=True)
    receiver = _comm.Link(right, 0, b"other" * 8, chief_side=False)
    sender.send("x", _comm.Deadline(DEADLINE))
    with pytest.raises(CommunicationError, match="was changed on its way"):
        receiver.recv(_comm.Deadline(DEADLINE))
    # A message sent back to its sender, or sent twice, is rejected too.
    echo = _comm.Link(right, 0, KEY, chief_side=True)
    sender.send("y", _comm.Deadline(DEADLINE))
    with pytest.raises(CommunicationError, match="was changed on its way"):
        echo.recv(_comm.Deadline(DEADLINE))
    sender.close()
    receiver.close()


def on_a_network() -> Tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        left = socket.create_connection(server.getsockname())
        return left, server.accept()[0]


@pytest.mark.parametrize("pair", [socket.socketpair, on_a_network])
def test_large_contents_arrive(pair: Callable[[], Tuple[socket.socket, socket.socket]]) -> None:
    left, right = pair()
    sender = _comm.Link(left, 1, KEY, chief_side=False)
    receiver = _comm.Link(right, 0, KEY, chief_side=True)
    sizes = [0, 1, _comm.LARGE_BYTES - 1, _comm.LARGE_BYTES, 3 * _comm._PART + 7]
    sent = [bytes([n + 1]) * size for n, size in enumerate(sizes)]
    for number in range(2):  # the second message has keys of its own
        message = (number, [pickle.PickleBuffer(bytearray(each)) for each in sent])
        sending = threading.Thread(target=sender.send, args=(message, _comm.Deadline(DEADLINE)))
        sending.start()
        found, contents = receiver.recv(_comm.Deadline(DEADLINE))
        sending.join()
        assert found == number and [bytes(each) for each in contents] == sent
        contents[-1][0] = 0  # the receiver may change them
    sender.close()
    receiver.close()


@pytest.mark.parametrize("what", ["a byte", "an earlier message"])
def test_changed_contents_are_refused(what: str) -> None:
    left, tapped = on_a_network()
    forwarded, right = on_a_network()
    sender = _comm.Link(left, 1, KEY, chief_side=False)
    receiver = _comm.Link(right, 0, KEY, chief_side=True)
    messages = [bytearray(b"a" * _comm.LARGE_BYTES), bytearray(b"b" * _comm.LARGE_BYTES)]
    taken = []
    for message in messages:
        sender.send(pickle.PickleBuffer(message), _comm.Deadline(DEADLINE))
        taken.append(bytearray())
        tapped.settimeout(DEADLINE)
        while message not in taken[-1] or len(taken[-1]) < taken[-1].find(message) + (
            _comm.LARGE_BYTES + 32
        ):
            taken[-1] += tapped.recv(1 << 20)
    start = taken[1].find(messages[1])
    if what == "a byte":
        taken[1][start + 100] ^= 1
    else:
        first = taken[0].find(messages[0])
        taken[1][start:] = taken[0][first:]
    forwarded.sendall(taken[0] + taken[1])
    assert receiver.recv(_comm.Deadline(DEADLINE)) == messages[0]
    with pytest.raises(CommunicationError, match="was changed on its way"):
        receiver.recv(_comm.Deadline(DEADLINE))
    for link in (sender, receiver):
        link.close()
    tapped.close()
    forwarded.close()


def test_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommunicationError, match=f"cannot listen on port {port}"):
            core.DistributedContext(
                rank=0,
                size=2,
                local_rank=0,
                local_size=2,
                cross_rank=0,
                cross_size=1,
                pub_port=port,
                force_tcp=True,
            )


@pytest.mark.parametrize(
    ("variable", "first", "second"),
    [("DET_ALLOCATION_ID", "5.one.1", "5.two.1"), ("MASTER_PORT", "29400", "29500")],
)
def test_two_jobs_on_one_machine(
    monkeypatch: pytest.MonkeyPatch, variable: str, first: str, second: str
) -> None:
    """Tasks of one node, and two torchruns on a laptop, do not use the same default port."""
    results: List[Any] = []

    def context(rank: int) -> core.DistributedContext:
        return core.DistributedContext(
            rank=rank, size=2, local_rank=rank, local_size=2, cross_rank=0, cross_size=1
        )

    def chief(job: str) -> None:
        dist = context(0)
        results.append((job, dist.allgather(job)))
        dist.close()

    threads = []
    for job, value in (("first", first), ("second", second)):
        monkeypatch.setenv(variable, value)
        threads.append(threading.Thread(target=chief, args=(job,)))
        threads[-1].start()
        wait_until(lambda: name_is_taken(context_place(_job_key(False))))
    for job, value in (("second", second), ("first", first)):
        monkeypatch.setenv(variable, value)
        worker = context(1)
        assert worker.allgather("w") == [job, "w"]
        worker.close()
    for thread in threads:
        thread.join(DEADLINE)
    assert sorted(results) == [("first", ["first", "w"]), ("second", ["second", "w"])]


def context_place(key: bytes) -> str:
    """The socket of a context on one machine, as the kernel lists it."""
    bare = core.DummyDistributedContext()
    bare._named = True
    return bare._meeting("", key).name


def name_is_taken(name: str) -> bool:
    return f"@{name}" in pathlib.Path("/proc/net/unix").read_text()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_second_chief_is_named() -> None:
    place = _comm.Meeting(name=f"determined-test-{free_port()}")
    hub = _comm.Hub(place, 2, KEY, 1.0)
    with pytest.raises(CommunicationError, match="another process of this machine listens on"):
        _comm.Hub(place, 2, KEY, 1.0)
    hub.close()


def test_a_slow_peer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A chief may validate for hours; a worker that waits logs the rank for which it waits."""
    monkeypatch.setattr(_comm, "REMIND_SECONDS", 0.02)
    assert math.isinf(_distributed.CALL_TIMEOUT)

    def work(dist: core.DistributedContext) -> Any:
        if dist.rank == 0:
            wait_until(lambda: "waiting for rank 0 for" in caplog.text)
        return dist.broadcast(dist.rank)

    assert run_ranks(work, 2) == [0, 0]


def test_closed_context_says_so() -> None:
    def work(dist: core.DistributedContext) -> None:
        dist.close()
        with pytest.raises(CommunicationError, match="is closed"):
            dist.allgather(None)
        with pytest.raises(CommunicationError, match="is closed"):
            dist.broadcast_local(None)

    run_ranks(work, 2)


def test_run_on_rank_0() -> None:
    def work(dist: core.DistributedContext) -> Any:
        return core._run_on_rank_0_and_broadcast(lambda: f"by {dist.rank}", dist)

    assert run_ranks(work, 3) == ["by 0"] * 3
    assert core._run_on_rank_0_and_broadcast(lambda: 0) == 0


def test_timeouts_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_COMM_TIMEOUT_SECONDS", "soon")
    with pytest.raises(ValueError, match="DET_COMM_TIMEOUT_SECONDS must be a number"):
        core.DistributedContext(
            rank=0,
            size=2,
            local_rank=0,
            local_size=2,
            cross_rank=0,
            cross_size=1,
            pub_port=free_port(),
        )
