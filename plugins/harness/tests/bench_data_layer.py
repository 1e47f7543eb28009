"""Measures determined.data next to its source and next to PyTorch's own loader.

    python tests/bench_data_layer.py --records 3000 --rounds 5 --weed PATH

It prints a line of JSON for each figure: what was measured, its yardstick, and both values of the
same run, the medians of alternating rounds. integration/bench runs it and puts it into its table.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
import zlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple

import boto3  # type: ignore[import-untyped]
import numpy as np
import torch

from determined import data
from determined.data.pytorch import DataLoader

SIDE = 64
BATCH = 64
KEYS = {"aws_access_key_id": "AKIABENCHBENCHBE", "aws_secret_access_key": "secret-of-the-bench"}


def files(count: int, seed: int = 0) -> Iterator[Tuple[str, bytes]]:
    """Yield compressed images, about as slow to decode as small PNGs."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(0, 200, SIDE)[:, None, None]
    for number in range(count):
        image = (ramp * rng.uniform(0.5, 1, 3) + rng.integers(0, 8, (SIDE, SIDE, 3))).astype("u1")
        yield f"{number % 10}/{number:06}", zlib.compress(image.tobytes(), 1)


def decode(name: str, contents: bytes) -> Tuple[Any, int]:
    image = np.frombuffer(zlib.decompress(contents), "u1").reshape(SIDE, SIDE, 3)
    return image.copy(), int(name.split("/", maxsplit=1)[0])


class OneByOne:
    """A source read by the number of a record, as a dataset of PyTorch reads files."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, number: int) -> Any:
        return self._source[number]


def rate(records: int, read: Callable[[], Iterable[Any]]) -> float:
    started = time.perf_counter()
    for _ in read():
        pass
    return records / (time.perf_counter() - started)


def compare(
    what: str, against: str, rounds: int, ours: Callable[[], float], theirs: Callable[[], float],
    unit: str = "/s",
) -> None:  # fmt: skip
    found: Tuple[List[float], List[float]] = ([], [])
    for _ in range(rounds):
        found[0].append(ours())
        found[1].append(theirs())
    value, yard = map(statistics.median, found)
    figure = {"what": what, "value": value, "unit": unit, "against": against, "yard": yard}
    print(json.dumps(figure), flush=True)


@contextlib.contextmanager
def object_store(weed: str, folder: pathlib.Path) -> Iterator[str]:
    """Start SeaweedFS with a bucket on loopback; yield its address."""
    names = ["master", "volume", "filer", "s3"]
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(2 * len(names))]
        for one in held:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in held]
    flags = [f"-{name}.port={ports[i]}" for i, name in enumerate(names)]
    flags += [f"-{name}.port.grpc={ports[i + len(names)]}" for i, name in enumerate(names)]
    key = {"accessKey": KEYS["aws_access_key_id"], "secretKey": KEYS["aws_secret_access_key"]}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    config = {"identities": [{"name": "bench", "credentials": [key], "actions": actions}]}
    (folder / "s3.json").write_text(json.dumps(config))
    (folder / "data").mkdir()
    command = [
        weed, "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=0",
        "-volume.preStopSeconds=0", "-filer", f"-filer.localSocket={folder / 'filer.sock'}",
        "-s3", f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0",
        f"-s3.localSocket={folder / 's3.sock'}", *flags,
    ]  # fmt: skip
    url = f"http://127.0.0.1:{ports[3]}"
    with (folder / "log").open("wb") as log, subprocess.Popen(
        command, stdout=log, stderr=log, cwd=folder
    ) as server:
        try:
            until(lambda: urllib.request.urlopen(url + "/status", timeout=5).close())
            until(lambda: client(url).create_bucket(Bucket="bench"))
            yield url
        finally:
            server.kill()


def until(works: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            works()
            return
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def client(url: str) -> Any:
    return boto3.client("s3", endpoint_url=url, region_name="us-east-1", **KEYS)


def shuffled(dataset: Any, seed: int = 1) -> Iterator[Any]:
    order = np.random.default_rng(seed).permutation(len(dataset)).tolist()
    return (dataset[number] for number in order)


def built(store: data.Store, name: str, source: Any) -> List[Any]:
    store.open(name, "1", source).close()
    return []


def against_files(store: data.Store, root: pathlib.Path, count: int, rounds: int) -> None:
    source = data.folder(root, decode, workers=0)
    times = iter(range(1000))

    def build() -> float:
        store.remove("images", "1")
        return rate(count, lambda: built(store, "images", source))

    compare(
        "building from files, one thread", "reading and decoding the files", rounds,
        build, lambda: rate(count, lambda: (source[n] for n in range(count))),
    )  # fmt: skip
    dataset = store.fetch("images", "1")
    compare(
        "random order, one record after another", "reading and decoding the files", rounds,
        lambda: rate(count, lambda: shuffled(dataset, next(times))),
        lambda: rate(count, lambda: shuffled(source, next(times))),
    )  # fmt: skip
    images = torch.from_numpy(np.stack([image for image, _ in dataset]))
    labels = torch.tensor([label for _, label in dataset])
    memory = torch.utils.data.TensorDataset(images, labels)
    for workers in (0, 2):
        words = f"PyTorch's loader, batches of {BATCH}, {workers or 'no'} workers"
        for what, against, records in (
            (words, "the same loader over the files", OneByOne(source)),
            (f"… {workers or 'no'} workers, again", "over tensors in memory", memory),
            (f"… {workers or 'no'} workers, with a state", "the same without", dataset),
        ):
            compare(
                what, against, rounds,
                functools.partial(loaded_in_order, dataset, times, workers),
                functools.partial(loaded, records, workers),
            )  # fmt: skip


def loaded_in_order(dataset: data.Dataset, seeds: Iterator[int], workers: int) -> float:
    """Return how fast our loader reads an epoch in a new order."""
    return loaded(dataset.stream(shuffle=True, shuffle_seed=next(seeds)), workers)


def loaded(records: Any, workers: int) -> float:
    """Return how fast a loader reads an epoch: our loader for a stream, otherwise PyTorch's."""
    options: Dict[str, Any] = {"batch_size": BATCH, "num_workers": workers}
    if isinstance(records, data.Stream):
        return rate(len(records), lambda: DataLoader(records, **options))
    loader = torch.utils.data.DataLoader
    return rate(len(records), lambda: loader(records, shuffle=True, **options))


def against_objects(
    store: data.Store, root: pathlib.Path, count: int, rounds: int, weed: str, folder: pathlib.Path
) -> None:
    with object_store(weed, folder) as url:
        s3 = client(url)
        for path in sorted(root.rglob("*"))[: count + 10]:
            if path.is_file():
                key = f"images/{path.relative_to(root).as_posix()}"
                s3.put_object(Bucket="bench", Key=key, Body=path.read_bytes())
        keys: Any = {"access_key": KEYS["aws_access_key_id"]}
        keys["secret_key"] = KEYS["aws_secret_access_key"]
        source = data.bucket("s3://bench/images", decode, endpoint_url=url, **keys)
        records = len(source)

        def build() -> float:
            store.remove("objects", "1")
            return rate(records, lambda: built(store, "objects", source))

        compare(
            "building from objects, eight threads", "reading them one after another", rounds,
            build, lambda: rate(records, lambda: shuffled(source)),
        )  # fmt: skip
        dataset = store.fetch("objects", "1")
        compare(
            "random order, one record after another, of objects",
            "reading and decoding objects of SeaweedFS on loopback", rounds,
            lambda: rate(records, lambda: shuffled(dataset)),
            lambda: rate(records, lambda: shuffled(source)),
        )  # fmt: skip


def the_order(store: data.Store) -> None:
    numbers = store.open("numbers", "1", range(200_000))

    def ours() -> float:
        stream = numbers.stream(shuffle=True, shuffle_seed=7)
        return rate(len(stream), stream.numbers)

    sampler = torch.utils.data.RandomSampler(range(200_000))
    compare("shuffling, numbers of records", "PyTorch's RandomSampler", 3, ours,
            lambda: rate(200_000, lambda: sampler))  # fmt: skip

    def opened() -> float:
        started = time.perf_counter()
        stream = store.fetch("numbers", "1").stream(shuffle=True, shuffle_seed=7)
        stream.seek(150_000)
        next(iter(stream))
        return 1e3 * (time.perf_counter() - started)

    def skipped() -> float:
        started = time.perf_counter()
        loader = iter(torch.utils.data.DataLoader(numbers, batch_size=1000, shuffle=True))
        for _ in range(150):
            next(loader)
        return 1e3 * (time.perf_counter() - started)

    compare("opening 200,000 records and resuming at the 150,000th", "reading up to it", 3,
            opened, skipped, "ms")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--weed", help="SeaweedFS, to compare with objects")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        root = folder / "files"
        for path, contents in files(given.records):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(contents)
        store = data.Store(folder / "store")
        against_files(store, root, given.records, given.rounds)
        if given.weed:
            place = folder / "objects"
            place.mkdir()
            against_objects(store, root, given.records // 3, given.rounds, given.weed, place)
        the_order(store)


if __name__ == "__main__":
    main()
