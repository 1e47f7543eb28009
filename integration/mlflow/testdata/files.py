"""Files of runs, by MLflow's own client: what it logs, lists, reads and deletes again. It fails at the first difference."""

import concurrent.futures
import hashlib
import os
import sys
import tempfile

import mlflow
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts, list_artifacts, load_dict, load_text

uri = sys.argv[1]
mlflow.set_tracking_uri(uri)
client = MlflowClient(uri)
mlflow.set_experiment("files of " + sys.argv[2])


def names(run, path=None):
    return sorted((f.path, f.is_dir, None if f.is_dir else f.file_size or 0) for f in client.list_artifacts(run, path))


def same(got, want):
    assert got == want, f"{got!r}, want {want!r}"


with mlflow.start_run() as run, tempfile.TemporaryDirectory() as folder:
    id = run.info.run_id
    same(names(id), [])
    mlflow.log_text("hello", "notes/a.txt")
    mlflow.log_text("", "notes/empty.txt")
    mlflow.log_dict({"a": [1, 2]}, "settings.json")
    mlflow.log_text("odd", "notes/ä b+c&e=f.txt")
    same(load_text(run.info.artifact_uri + "/notes/a.txt"), "hello")
    same(load_dict(run.info.artifact_uri + "/settings.json"), {"a": [1, 2]})
    same(names(id), [("notes", True, None), ("settings.json", False, os.path.getsize(download_artifacts(run_id=id, artifact_path="settings.json")))])
    same(names(id, "notes"), [("notes/a.txt", False, 5), ("notes/empty.txt", False, 0), ("notes/ä b+c&e=f.txt", False, 3)])
    same(names(id, "notes/a.txt"), [])
    with open(download_artifacts(run_id=id, artifact_path="notes/ä b+c&e=f.txt")) as f:
        same(f.read(), "odd")

    for sub in ["", "x", "x/y"]:
        os.makedirs(os.path.join(folder, sub), exist_ok=True)
        for i in range(3):
            with open(os.path.join(folder, sub, f"{i}.bin"), "wb") as f:
                f.write(os.urandom(1000 * i))
    mlflow.log_artifacts(folder, "all")
    same(names(id, "all"), [("all/0.bin", False, 0), ("all/1.bin", False, 1000), ("all/2.bin", False, 2000), ("all/x", True, None)])
    back = download_artifacts(run_id=id, artifact_path="all")
    for sub in ["", "x", "x/y"]:
        for i in range(3):
            with open(os.path.join(folder, sub, f"{i}.bin"), "rb") as a, open(os.path.join(back, sub, f"{i}.bin"), "rb") as b:
                same(a.read(), b.read())
    same(sorted(f.path for f in list_artifacts(run_id=id)), ["all", "notes", "settings.json"])

    mlflow.log_text("other", "notes/a.txt")
    same(load_text(run.info.artifact_uri + "/notes/a.txt"), "other")

    large = os.path.join(folder, "large.bin")
    sum = hashlib.sha256()
    with open(large, "wb") as f:
        for _ in range(64):
            part = os.urandom(1 << 20)
            sum.update(part)
            f.write(part)
    mlflow.log_artifact(large, "models")
    with open(download_artifacts(run_id=id, artifact_path="models/large.bin"), "rb") as f:
        same(hashlib.sha256(f.read()).hexdigest(), sum.hexdigest())

    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # none is lost
        list(pool.map(lambda i: client.log_text(id, str(i), f"many/{i:02}.txt"), range(40)))
    same([n for n, _, _ in names(id, "many")], [f"many/{i:02}.txt" for i in range(40)])

    for path in ["notes/a.txt/below", "notes"]:  # a path is a file or a folder
        try:
            client.log_text(id, "x", path)
        except Exception:
            pass
        else:
            raise AssertionError(path)
    try:
        load_text(run.info.artifact_uri + "/nothing.txt")
    except Exception:
        pass
    else:
        raise AssertionError("there is nothing.txt")

    repo = mlflow.store.artifact.artifact_repository_registry.get_artifact_repository(run.info.artifact_uri)
    repo.delete_artifacts("many")
    same(names(id, "many"), [])
    repo.delete_artifacts("notes/a.txt")
    same([n for n, _, _ in names(id, "notes")], ["notes/empty.txt", "notes/ä b+c&e=f.txt"])
print("run", id)
