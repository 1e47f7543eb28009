"""Tries everything with somebody else's checkpoints, with the credentials of its own."""

import json
import os

import boto3
import botocore.session
from determined import core

info = json.loads(os.environ["DET_EXPERIMENT_CONFIG"])
storage = info["checkpoint_storage"]
bucket, own, endpoint = storage["bucket"], storage["prefix"], storage["endpoint_url"]
victim = os.environ["VICTIM"]  # <prefix>/<uuid>
other = victim.split("/")[0]
s3 = boto3.client("s3", endpoint_url=endpoint)
sts = boto3.client("sts", endpoint_url=endpoint, region_name="us-east-1")


def attempt(name, call):
    try:
        call()
        said = "done"
    except Exception as error:
        code = getattr(error, "response", {}).get("Error", {}).get("Code", type(error).__name__)
        said = "denied" if code in ("AccessDenied", "403", "Forbidden") else f"{code}: {error}"
    print("TRIED " + json.dumps({"name": name, "said": said}), flush=True)


def delete_many():
    said = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": f"{victim}/weights"}]})
    errors = said.get("Errors", [])
    if not errors:
        raise RuntimeError("deleted")
    raise type("Refused", (Exception,), {"response": {"Error": {"Code": errors[0]["Code"]}}})


def assume(**more):
    role = "arn:aws:iam::000000000000:role/det-checkpoints"
    sts.assume_role(RoleArn=role, RoleSessionName="more", **more)


with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_text("mine")
    mine = f"{own}/{uuid}"
    weights, copied = f"{victim}/weights", {"Bucket": bucket, "Key": f"{victim}/weights"}
    for name, call in {
        "own read": lambda: s3.get_object(Bucket=bucket, Key=f"{mine}/weights"),
        "own write": lambda: s3.put_object(Bucket=bucket, Key=f"{own}/note", Body=b"x"),
        "own list": lambda: s3.list_objects_v2(Bucket=bucket, Prefix=f"{own}/"),
        "own delete": lambda: s3.delete_object(Bucket=bucket, Key=f"{own}/note"),
        "read": lambda: s3.get_object(Bucket=bucket, Key=weights),
        "head": lambda: s3.head_object(Bucket=bucket, Key=weights),
        "attributes": lambda: s3.get_object_tagging(Bucket=bucket, Key=weights),
        "write": lambda: s3.put_object(Bucket=bucket, Key=f"{victim}/planted", Body=b"x"),
        "overwrite": lambda: s3.put_object(Bucket=bucket, Key=weights, Body=b"x"),
        "write in parts": lambda: s3.create_multipart_upload(Bucket=bucket, Key=f"{victim}/parts"),
        "copy out": lambda: s3.copy_object(Bucket=bucket, Key=f"{own}/stolen", CopySource=copied),
        "copy in": lambda: s3.copy_object(
            Bucket=bucket, Key=f"{victim}/planted", CopySource={"Bucket": bucket, "Key": f"{mine}/weights"}
        ),
        "dots": lambda: s3.get_object(Bucket=bucket, Key=f"{own}/../{weights}"),
        "list": lambda: s3.list_objects_v2(Bucket=bucket, Prefix=f"{other}/"),
        "old list": lambda: s3.list_objects(Bucket=bucket, Prefix=f"{other}/"),
        "list all": lambda: s3.list_objects_v2(Bucket=bucket),
        "list like own": lambda: s3.list_objects_v2(Bucket=bucket, Prefix=own),
        "versions": lambda: s3.list_object_versions(Bucket=bucket),
        "uploads": lambda: s3.list_multipart_uploads(Bucket=bucket),
        "delete": lambda: s3.delete_object(Bucket=bucket, Key=weights),
        "delete many": delete_many,
        "tag": lambda: s3.put_object_tagging(Bucket=bucket, Key=weights, Tagging={"TagSet": []}),
        "open the bucket": lambda: s3.put_bucket_policy(Bucket=bucket, Policy="{}"),
        "remove the bucket": lambda: s3.delete_bucket(Bucket=bucket),
        "more by a session": assume,
        "more by a policy": lambda: assume(
            Policy=json.dumps(
                {
                    "Version": "2012-10-17",
                    "Statement": [{"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}],
                }
            )
        ),
    }.items():
        attempt(name, call)

    # Vault: no token is here, and no identity that it takes.
    secrets = os.environ["NOMAD_SECRETS_DIR"]
    print("SECRETS " + json.dumps(sorted(os.listdir(secrets))))
    print("NAMES " + json.dumps(sorted(n for n in os.environ if "VAULT" in n or "AWS" in n or "TOKEN" in n)))
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 0.5})
