"""TensorBoard reads the package's files; the program of TensorBoard tasks."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List

import pytest

import determined as det
from determined import tensorboard
from determined.common import storage
from determined.exec import tensorboard as task
from determined.tensorboard._mirror import Mirror, Source, parse_sources
from tests.stub_master import DEADLINE

ROOT = pathlib.Path(det.__file__).parent.parent
PATH = "cluster-1/tensorboard/experiment/5/trial/12"


def source(root: pathlib.Path, name: str = "exp_5/trial_12", path: str = PATH) -> Source:
    return Source(name, {"type": "directory", "container_path": str(root)}, path)


def write(root: pathlib.Path, name: str, text: str) -> None:
    scratch = root.parent / "scratch"
    scratch.write_text(text)
    storage.build({"type": "directory", "container_path": str(root)}, None).files(PATH).store(
        scratch, name
    )


@pytest.fixture
def stored(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "storage"
    root.mkdir()
    return root


def test_mirror(stored: pathlib.Path, tmp_path: pathlib.Path) -> None:
    here = tmp_path / "here"
    mirror = Mirror([source(stored), source(stored, "none", "no/such/path")], here)
    mirror.look()
    assert mirror.files == 0 and mirror.troubles == {}
    write(stored, "events.1", "one")
    write(stored, "train/events.2", "two")
    mirror.look()
    assert mirror.files == 2
    copy = here / "exp_5" / "trial_12" / "train" / "events.2"
    assert copy.read_text() == "two"
    with copy.open() as follower:
        assert follower.read() == "two"
        # If a file has grown, the new part is appended to the local copy, which a reader has open.
        write(stored, "train/events.2", "two and more")
        mirror.look()
        assert follower.read() == " and more"
    # A file that became shorter was replaced.
    write(stored, "train/events.2", "new")
    mirror.look()
    assert copy.read_text() == "new"
    assert (here / "exp_5" / "trial_12" / "events.1").read_text() == "one"


def test_mirror_reads_only_what_is_new(stored: pathlib.Path, tmp_path: pathlib.Path) -> None:
    asked: List[Any] = []

    class Watched(storage.FolderFiles):
        def read(self, name: str, start: int = 0) -> Iterator[bytes]:
            asked.append((name, start))
            return super().read(name, start)

    mirror = Mirror([source(stored)], tmp_path / "here")
    mirror._opened["exp_5/trial_12"] = Watched(stored / PATH)
    write(stored, "e", "12345")
    for _ in range(3):
        mirror.look()
    write(stored, "e", "1234567")
    mirror.look()
    assert asked == [("e", 0), ("e", 5)]


def test_mirror_and_storage_that_is_away(
    stored: pathlib.Path, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    away = Source("exp_1/trial_1", {"type": "shared_fs", "host_path": "/h"}, "p")
    container_path = tmp_path / "mount"
    mirror = Mirror([away, source(stored)], tmp_path / "here", str(container_path))
    write(stored, "e", "x")
    mirror.look()
    mirror.look()
    assert list(mirror.troubles) == ["exp_1/trial_1"] and mirror.files == 1
    assert caplog.text.count("cannot be read, trying again") == 1
    (container_path / "p").mkdir(parents=True)
    (container_path / "p" / "f").write_text("x")
    mirror.look()
    assert mirror.troubles == {} and mirror.files == 2


def test_mirror_follows_by_itself(stored: pathlib.Path, tmp_path: pathlib.Path) -> None:
    mirror = Mirror([source(stored)], tmp_path / "here", look_seconds=0.01)
    mirror.start()
    try:
        write(stored, "e", "x")
        wait_for(lambda: mirror.files == 1)
    finally:
        mirror.close()
    write(stored, "f", "x")
    assert mirror.files == 1


def test_mirror_says_what_scripts_look_for(
    stored: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts: List[str] = []

    def said(words: str) -> bool:
        texts.append(capsys.readouterr().out)
        return words in "".join(texts)

    mirror = Mirror([source(stored)], tmp_path / "here", look_seconds=0.01)
    mirror.start()
    try:
        wait_for(lambda: said("TensorBoard waits on metrics\n"))
        write(stored, "e", "x")
        wait_for(lambda: said("TensorBoard contains metrics\n"))
    finally:
        mirror.close()


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 2 * DEADLINE
    pause = threading.Event()
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "must be a list"),
        ('[{"name": "a"}]', "lacks storage, path"),
        ('[{"name": "../a", "storage": {}, "path": "p"}]', "leads out of its folder"),
        ('[{"name": "/a", "storage": {}, "path": "p"}]', "leads out of its folder"),
    ],
)
def test_sources_that_mean_nothing(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_sources(text)


def test_files_stay_in_their_folder(stored: pathlib.Path) -> None:
    files = storage.build({"type": "directory", "container_path": str(stored)}, None).files(PATH)
    for name in ("../x", "/x", "a/../../x", "."):
        with pytest.raises(ValueError, match="leads out of its folder"):
            files.store(stored / "x", name)
        with pytest.raises(ValueError, match="leads out of its folder"):
            list(files.read(name))
    with pytest.raises(ValueError, match="leads out of its folder"):
        storage.build({"type": "directory", "container_path": str(stored)}, None).files("..")
    assert files.list() == {}
    write(stored, "a/b", "12")
    assert {name: state.size for name, state in files.list().items()} == {"a/b": 2}
    files.delete()
    assert files.list() == {}


def test_waiting_page() -> None:
    sources = [Source(f"exp_1/trial_{i}", {}, "") for i in range(7)]
    text = task.waiting_page(sources, {"exp_1/trial_0": "OSError: <away>"}).decode()
    assert "No data yet" in text and "exp_1/trial_4 and 2 more" in text
    assert "exp_1/trial_0: OSError: &lt;away&gt;" in text
    assert "no trials were named" in task.waiting_page([], {}).decode()


def test_what_the_task_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert task.main([]) == 2
    assert "DET_TASK_SOCKET is not set" in capsys.readouterr().err
    monkeypatch.setenv("DET_TASK_SOCKET", "/s")
    monkeypatch.setenv("DET_TASK_ID", "t")
    monkeypatch.setenv("DET_TENSORBOARD_SOURCES", "[")
    assert task.main([]) == 2
    monkeypatch.setenv("DET_TENSORBOARD_SOURCES", "[]")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert task.main([]) == 1
    assert "TensorBoard is not installed" in capsys.readouterr().err


# Tests that need TensorBoard.


def test_tensorboard_reads_our_files(tmp_path: pathlib.Path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    writer = tensorboard.EventWriter(tmp_path)
    writer.add_scalar("Determined/loss", 0.25, 7)
    writer.add_scalar("Determined/ünïcode", float("nan"), 2**40)
    writer.close()
    (path,) = tmp_path.iterdir()
    events = list(loader.EventFileLoader(str(path)).Load())
    assert events[0].file_version == "brain.Event:2"
    points = [(event.step, event.summary.value[0].tag) for event in events[1:]]
    assert points == [(7, "Determined/loss"), (2**40, "Determined/ünïcode")]
    assert events[1].summary.value[0].tensor.float_val[0] == 0.25


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=DEADLINE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self._path)


def get(path: str, target: str) -> Any:
    connection = _UnixConnection(path)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", errors="replace")
    finally:
        connection.close()


def test_the_task(stored: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A waiting page, then curves, and a point that is added while the page is open."""
    pytest.importorskip("tensorboard")
    address = str(tmp_path / "s")
    environment: Dict[str, str] = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(tmp_path),
        "DET_TASK_SOCKET": address,
        "DET_TASK_ID": "abc",
        "DET_TENSORBOARD_SOURCES": json.dumps([source(stored)._asdict()]),
    }
    command = [sys.executable, "-m", "determined.exec.tensorboard", "--reload_interval=1"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: os.path.exists(address) or process.poll() is not None)
        assert process.poll() is None
        assert os.stat(address).st_mode & 0o777 == 0o600
        status, text = wait_for(lambda: get(address, "/proxy/abc/"))
        assert status == 200 and "No data yet" in text and "exp_5/trial_12" in text
        writer = tensorboard.EventWriter(tmp_path / "events")
        manager = tensorboard.SharedFSTensorboardManager(
            str(stored), tmp_path / "events", pathlib.Path(PATH)
        )
        for step in (1, 2):
            writer.add_scalar("Determined/loss", 0.5, step)
            writer.flush()
            manager._copy(lambda _: True, lambda path, _: path, 0)
            seen = f"/proxy/abc/data/plugin/scalars/scalars?tag=Determined%2Floss&run={RUN}"
            expected = list(range(1, step + 1))
            wait_for(lambda: points(get(address, seen)) == expected)  # noqa: B023
        status, text = get(address, "/proxy/abc/")
        assert status == 200 and "No data yet" not in text
        assert get(address, "/elsewhere")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
    finally:
        process.kill()
        process.communicate()
    assert not list(tmp_path.glob("tensorboard-*"))


RUN = "exp_5%2Ftrial_12"


def points(answer: Any) -> List[int]:
    status, text = answer
    return [point[1] for point in json.loads(text)] if status == 200 else []
