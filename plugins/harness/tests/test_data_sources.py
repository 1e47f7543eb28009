"""Files as records: from a folder, and from a real object store (see DETENT_WEED)."""

from __future__ import annotations

import functools
import json
import pathlib
from typing import Any, Tuple

import pytest

from determined import data
from tests.object_stores import BUCKET, s3_client
from tests.test_storage_s3 import KEYS, endpoint

__all__ = ["endpoint"]


def fill(root: pathlib.Path, count: int = 30) -> None:
    (root / "deep" / "er").mkdir(parents=True)
    for number in range(count):
        place = root if number % 2 else root / "deep" / "er"
        (place / f"{number:03}.txt").write_text(f"contents {number}")
    (root / "notes.md").write_text("no data")


def decode(name: str, contents: bytes) -> Tuple[int, str]:
    return int(name[-7:-4]), contents.decode()


def decode_otherwise(name: str, contents: bytes) -> Tuple[int, int]:
    return int(name[-7:-4]), len(contents)


def test_a_folder(tmp_path: pathlib.Path) -> None:
    fill(tmp_path / "files")
    store = data.Store(tmp_path / "store")
    with store.open("texts", "1", data.folder(tmp_path / "files", decode, "*.txt")) as dataset:
        assert len(dataset) == 30
        assert dict(dataset) == {number: f"contents {number}" for number in range(30)}
        # In the order of their names: files of the folder deep come after 029.txt.
        assert [number for number, _ in dataset] == [*range(1, 30, 2), *range(0, 30, 2)]
    with store.open("raw", "1", data.folder(tmp_path / "files")) as dataset:
        assert dataset[-1] == ("notes.md", b"no data") and len(dataset) == 31
    with pytest.raises(FileNotFoundError, match=r"no file whose name matches '\*\.png'"):
        data.folder(tmp_path / "files", pattern="*.png")
    with pytest.raises(NotADirectoryError):
        data.folder(tmp_path / "nothing")


def test_fingerprints_of_folders_differ(tmp_path: pathlib.Path) -> None:
    root = tmp_path / "files"
    fill(root)
    first = data.folder(root, decode).fingerprint()
    assert first == data.folder(root, decode).fingerprint() is not None
    assert data.folder(root).fingerprint() != first
    assert data.folder(root, decode_otherwise).fingerprint() != first
    assert data.folder(root, functools.partial(decode)).fingerprint() is None
    source = data.folder(root, decode)
    (root / "001.txt").write_text("changed while it was read")
    assert data.folder(root, decode).fingerprint() != first
    with pytest.raises(OSError, match=r"001\.txt in .* has 25 bytes, and had 10 when the build"):
        data.Store(tmp_path / "store").open("texts", "1", source)


def test_a_bucket(endpoint: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "files", 20)
    s3 = s3_client(endpoint)
    for path in (tmp_path / "files").rglob("*.*"):
        key = path.relative_to(tmp_path / "files").as_posix()
        s3.put_object(Bucket=BUCKET, Key=f"sets/texts/{key}", Body=path.read_bytes())
    s3.put_object(Bucket=BUCKET, Key="sets/texts-of-others/1.txt", Body=b"not ours")
    # Data uses the user's keys, not those of the task's checkpoints.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["secret_key"])
    wrong = tmp_path / "checkpoints.ini"
    wrong.write_text("[default]\naws_access_key_id = other\naws_secret_access_key = other\n")
    monkeypatch.setenv("DET_AWS_CONFIG_FILE", str(wrong))
    address = f"s3://{BUCKET}/sets/texts"
    source = data.bucket(address, decode, "*.txt", endpoint_url=endpoint)
    mark = source.fingerprint()
    store = data.Store(tmp_path / "store")
    with store.open("texts", "1", source) as dataset:
        assert dict(dataset) == {number: f"contents {number}" for number in range(20)}
    s3.put_object(Bucket=BUCKET, Key="sets/texts/003.txt", Body=b"contents x")
    assert data.bucket(address, decode, "*.txt", endpoint_url=endpoint).fingerprint() != mark
    keys: Any = KEYS
    given = data.bucket(f"s3://{BUCKET}/sets/texts/deep/", endpoint_url=endpoint, **keys)
    assert json.dumps([name for name, _ in map(given.__getitem__, range(2))]) == (
        '["er/000.txt", "er/002.txt"]'
    )


@pytest.mark.parametrize(
    "wrong", ["gs://bucket/x", "s3://", "s3://bucket", "/folder", "s3://bucket/x?y=1"]
)
def test_wrong_addresses(wrong: str) -> None:
    with pytest.raises(ValueError, match="s3://bucket/folder"):
        data.bucket(wrong)


def test_half_a_key() -> None:
    options: Any = {"access_key": "a"}
    with pytest.raises(ValueError, match="together"):
        data.bucket("s3://bucket/x", **options)
