import io
import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import List

import pytest

import determined as det
from determined.launch import _descendants, wrap_rank

ROOT = str(pathlib.Path(det.__file__).parent.parent)


def start(arguments: List[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "determined.launch.wrap_rank", *arguments],
        env={**os.environ, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_marks_both_outputs_and_keeps_the_exit_code() -> None:
    script = "echo one; echo two >&2; printf 'bar 1\\rbar 2\\r\\nlast'; exit 3"
    process = start(["2", "--", "sh", "-c", script])
    out, err = process.communicate(timeout=60)
    assert out == "[rank=2] one\n[rank=2] bar 1\n[rank=2] bar 2\n[rank=2] last\n"
    assert err == "[rank=2] two\n"
    assert process.returncode == 3


def test_hands_signals_on() -> None:
    script = "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = start(["0", "sh", "-c", script])
    assert process.stdout is not None
    assert process.stdout.readline() == "[rank=0] ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert out == "[rank=0] caught\n"
    assert process.returncode == 7


def test_a_signal_that_does_not_end_the_wait() -> None:
    script = "trap 'exit 7' TERM; echo ready; for i in $(seq 400); do sleep 0.05; done; exit 3"
    child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    previous = signal.signal(signal.SIGTERM, lambda signum, _frame: child.send_signal(signum))
    # The kernel gives the signal to this thread, and not to the main one, which waits.
    sender = threading.Thread(target=_signal_when_main_waits)
    sender.start()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        assert _descendants.wait_for_one([child.pid]) == child.pid
        assert child.wait() == 7
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGTERM, previous)
        sender.join()
        child.stdout.close()


def _signal_when_main_waits() -> None:
    futexes = ("202", "98")  # of amd64 and arm64: it waits for this thread
    syscall = pathlib.Path(f"/proc/self/task/{os.getpid()}/syscall")
    while syscall.read_text().split()[0] in ("running", *futexes):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def test_killed_program_looks_like_a_shells() -> None:
    process = start(["0", "sh", "-c", "kill -9 $$"])
    process.communicate(timeout=60)
    assert process.returncode == 137


def test_missing_program() -> None:
    process = start(["0", "no-such-program"])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 127 and "cannot run no-such-program" in err


def test_rank_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATER", "4")
    assert wrap_rank.parse(["FIRST,LATER", "cmd"]).rank == 4
    with pytest.raises(ValueError, match="no such variable"):
        wrap_rank.parse(["FIRST", "cmd"])


@pytest.mark.parametrize(
    ("argv", "message"),
    [([], "RANK is missing"), (["0"], "COMMAND is missing"), (["0", "--"], "COMMAND is missing")],
)
def test_bad_command_lines(
    argv: List[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wrap_rank.main(argv) == 2
    assert message in capsys.readouterr().err


def test_arguments_of_the_program_are_its_own() -> None:
    parsed = wrap_rank.parse(["--no-redirect-stdio", "1", "--", "cmd", "--", "-x"])
    assert parsed == wrap_rank.Arguments(1, ["cmd", "--", "-x"], False)


class Chunks(io.RawIOBase):
    """Provides prepared pieces, as a pipe does."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)

    def read(self, size: int = -1) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\n\nc"], [b"ab", b"", b"c"]),
        ([b"a\r", b"\nb\r", b"c\n"], [b"a", b"b", b"c"]),
        ([b"a\r\nb"], [b"a", b"b"]),
        ([b"x" * 8191, b"y\n"], [b"x" * 8190, b"xy"]),
    ],
)
def test_lines(chunks: List[bytes], lines: List[bytes]) -> None:
    source = io.BufferedReader(io.BytesIO()) if not chunks else Chunks(*chunks)
    assert list(wrap_rank.split_lines(source)) == lines  # type: ignore[arg-type]
