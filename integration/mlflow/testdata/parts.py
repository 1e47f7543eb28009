"""A file that MLflow's own client sends in parts, and reads by a signed address where the storage has one. It fails at the first difference."""

import hashlib
import os
import sys
import tempfile

uri, signed = sys.argv[1], sys.argv[2] == "signed"
PART = 5 << 20  # S3 wants as much
os.environ["MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE"] = str(PART)
os.environ["MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE"] = str(PART)
os.environ["MLFLOW_MULTIPART_DOWNLOAD_CHUNK_SIZE"] = str(PART)

import mlflow
import requests
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from mlflow.entities.multipart_upload import MultipartUploadPart
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

mlflow.set_tracking_uri(uri)
client = MlflowClient(uri)
mlflow.set_experiment("parts")
sent = []
put = requests.put


def note(url, **args):
    sent.append(url)
    return put(url, **args)


requests.put = note


def same(got, want):
    assert got == want, f"{got!r}, want {want!r}"


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def fails(why, call, *args):
    try:
        call(*args)
    except Exception as e:
        text = str(e) + str(getattr(getattr(e, "response", None), "text", ""))
        assert why in text, text
    else:
        raise AssertionError(f"nothing fails with {why}")


with mlflow.start_run() as run, tempfile.TemporaryDirectory() as folder:
    id = run.info.run_id
    large = os.path.join(folder, "large weights.bin")
    with open(large, "wb") as f:
        f.write(os.urandom(2 * PART + 7))
    mlflow.log_artifact(large, "models/a")
    same(len(sent), 3)
    same({url.startswith(uri + "/") for url in sent}, {not signed})
    path = "models/a/large weights.bin"
    same([(f.path, f.file_size) for f in client.list_artifacts(id, "models/a")], [(path, 2 * PART + 7)])
    same(digest(download_artifacts(run_id=id, artifact_path=path)), digest(large))
    with open(large, "wb") as f:  # another one takes its place
        f.write(os.urandom(PART))
    mlflow.log_artifact(large, "models/a")
    same(len(sent), 4)
    os.environ["MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD"] = "true"
    same(digest(download_artifacts(run_id=id, artifact_path=path)), digest(large))

    repo = get_artifact_repository(run.info.artifact_uri)
    link = repo._get_presigned_download_url(path)
    same((bool(link.url), link.file_size), (signed, PART if signed else None))
    begun = repo.create_multipart_upload("b.bin", 2, "models")
    same(len(begun.credentials), 2)
    done = [MultipartUploadPart(1, "", ""), MultipartUploadPart(2, "", "")]
    fails("part 1 of 2 has not arrived", repo.complete_multipart_upload, "b.bin", begun.upload_id, done, "models")
    part = repo._upload_part(begun.credentials[0], large, PART, 0)
    assert part.etag or signed, part  # the addresses of Azure answer with none
    fails("part 2 of 2 has not arrived", repo.complete_multipart_upload, "b.bin", begun.upload_id, done, "models")
    fails("has no upload", repo.complete_multipart_upload, "c.bin", begun.upload_id, done, "models")
    repo.abort_multipart_upload("b.bin", begun.upload_id, "models")
    repo.abort_multipart_upload("b.bin", begun.upload_id, "models")
    fails("has no upload", repo.complete_multipart_upload, "b.bin", begun.upload_id, done, "models")
    fails("send larger parts", repo.create_multipart_upload, "b.bin", 5001, "models")
    fails("cannot be a file and a folder", repo.create_multipart_upload, "x", 2, path)
    same([f.path for f in client.list_artifacts(id, "models")], ["models/a"])
print("run", id)
