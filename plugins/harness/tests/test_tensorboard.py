import pathlib
import struct
from typing import Dict, List, Tuple

import pytest

from determined import core, tensorboard
from determined.tensorboard import _events
from tests.conftest import MakeTask
from tests.stub_master import Stub

Point = Tuple[str, int, float]


def fields(data: bytes) -> Dict[int, bytes]:
    """Decode one protobuf message as far as these files need it."""
    found: Dict[int, bytes] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            found[tag >> 3] = str(varint()).encode()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        found[tag >> 3] = data[at : at + size]
        at += size
    return found


def read_events(path: pathlib.Path) -> List[Point]:
    """Read a file's points, checking every checksum."""
    data = path.read_bytes()
    points = []
    first = True
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert data[8:12] == struct.pack("<I", _events.masked_crc32c(data[:8]))
        record = data[12 : 12 + length]
        assert data[12 + length : 16 + length] == struct.pack("<I", _events.masked_crc32c(record))
        data = data[16 + length :]
        event = fields(record)
        if first:
            assert event[3] == b"brain.Event:2"
            first = False
            continue
        point = fields(fields(event[5])[1])
        (value,) = struct.unpack("<f", point[2])
        points.append((point[1].decode(), int(event.get(2, b"0")), value))
    return points


def test_checksum() -> None:
    # The published check value of CRC-32C, masked as in record files.
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert _events.masked_crc32c(b"123456789") == masked


def test_event_files(tmp_path: pathlib.Path) -> None:
    writer = tensorboard.BatchMetricWriter(tensorboard.EventWriter(tmp_path))
    writer.on_train_step_end(300, {"loss": 0.5, "name": "x"}, [{"b": 1.0}, {"b": 2.0}])
    writer.on_validation_step_end(300, {"accuracy": 1, "val_loss": 1e300})
    writer.close()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert read_events(path) == [
        ("Determined/b", 298, 1.0),
        ("Determined/b", 299, 2.0),
        ("Determined/loss", 300, 0.5),
        ("Determined/val_accuracy", 300, 1.0),
        ("Determined/val_loss", 300, float("inf")),
    ]


def test_files_stay_small(tmp_path: pathlib.Path) -> None:
    writer = tensorboard.EventWriter(tmp_path)
    for step in range(6000):
        writer.add_scalar("name" * 10, 1.0, step)
        writer.flush()
    writer.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1
    assert all(path.stat().st_size < _events.FILE_BYTES + 1000 for path in files)
    assert [point[1] for path in files for point in read_events(path)] == list(range(6000))


def test_reported_metrics_reach_storage(stub: Stub, make_task: MakeTask) -> None:
    shared = make_task()
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_validation_metrics(1, {"loss": 0.25})
        with pytest.raises(RuntimeError, match=r"is for TensorboardMode\.MANUAL"):
            context.train.upload_tensorboard_files()
    folder = shared / "team" / "cluster-1" / "tensorboard" / "experiment" / "5" / "trial" / "12"
    (path,) = folder.iterdir()
    assert read_events(path) == [("Determined/loss", 1, 0.5), ("Determined/val_loss", 1, 0.25)]


def test_manual_mode(stub: Stub, make_task: MakeTask) -> None:
    shared = make_task()
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        base = context.train.get_tensorboard_path()
        (base / "sub").mkdir(parents=True)
        (base / "sub" / "mine").write_text("m")
        (base / "skipped").write_text("s")
        context.train.upload_tensorboard_files(
            selector=lambda path: path.name == "mine",
            mangler=lambda path, rank: path.with_name(f"{path.name}#{rank}"),
        )
    folder = shared / "team" / "cluster-1" / "tensorboard" / "experiment" / "5" / "trial" / "12"
    assert [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()] == ["sub/mine#0"]


def test_storage_that_fails_ends_nothing(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "a").write_text("a")
    in_the_way = tmp_path / "store"
    in_the_way.write_text("a file")
    manager = tensorboard.SharedFSTensorboardManager(str(in_the_way), base, pathlib.Path("x"))
    manager.start()
    manager.sync()
    manager.close()
    assert "cannot store TensorBoard files" in caplog.text


def test_what_failed_is_tried_again(tmp_path: pathlib.Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "a").write_text("a")
    store = tmp_path / "store"
    store.write_text("a file in the way")
    manager = tensorboard.SharedFSTensorboardManager(str(store), base, pathlib.Path("x"))
    manager._copy(lambda _: True, lambda path, _: path, 0)
    store.unlink()
    manager.close()
    assert (store / "x" / "a").read_text() == "a"
    manager.delete()
    assert not (store / "x").exists()


def test_unchanged_files_are_not_copied_again(tmp_path: pathlib.Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "a").write_text("a")
    manager = tensorboard.SharedFSTensorboardManager(str(tmp_path / "s"), base, pathlib.Path("x"))
    manager._copy(lambda _: True, lambda path, _: path, 0)
    (tmp_path / "s" / "x" / "a").unlink()
    (base / "b").write_text("b")
    manager._copy(lambda _: True, lambda path, _: path, 0)
    assert [path.name for path in (tmp_path / "s" / "x").iterdir()] == ["b"]
