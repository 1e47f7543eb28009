"""The parts specific to Google and Azure: credentials, and the errors without their libraries."""

import json
import pathlib
import sys
from typing import Any, Dict

import pytest

from determined import errors
from determined.common import storage

GCS = {"type": "gcs", "bucket": "b", "prefix": "/team//p/"}
URL = "https://lab.blob.core.windows.net"
AZURE = {"type": "azure", "container": "c/team", "account_url": URL}
KEY = "c29tZSBrZXk="


@pytest.mark.parametrize(
    ("config", "module", "package"),
    [
        (GCS, "google.cloud.storage", "google-cloud-storage"),
        ({**AZURE, "credential": KEY}, "azure.storage.blob", "azure-storage-blob"),
    ],
)
def test_without_its_package_the_error_names_it(
    config: Dict[str, Any], module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), None)
    with pytest.raises(ImportError, match=f"needs the package {package}, which is not installed"):
        storage.build(config, container_path=None)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without credentials."""
    for name in (
        "STORAGE_EMULATOR_HOST",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "DET_GCS_CREDENTIALS_FILE",
        "DET_AZURE_CREDENTIALS_FILE",
        "AZURE_STORAGE_CONNECTION_STRING",
        "AZURE_STORAGE_ACCOUNT",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def user_file(folder: pathlib.Path, name: str) -> str:
    """Write a credentials file of Google that has no key."""
    file = folder / name
    fields = {"client_id": "c", "client_secret": "s", "refresh_token": name}
    file.write_text(json.dumps({"type": "authorized_user", **fields}))
    return str(file)


def test_the_credentials_of_a_task_go_before_the_default_ones(
    alone: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    pytest.importorskip("google.cloud.storage")
    alone.setenv("GOOGLE_APPLICATION_CREDENTIALS", user_file(tmp_path, "users"))
    manager: Any = storage.build(GCS, container_path=None)
    assert manager.client._credentials.refresh_token == "users"
    assert str(manager) == "gs://b/team/p" and manager.get_storage_prefix("x") == "team/p/x"
    alone.setenv("DET_GCS_CREDENTIALS_FILE", user_file(tmp_path, "tasks"))
    manager = storage.build(GCS, container_path=None)
    assert manager.client._credentials.refresh_token == "tasks"


def test_what_cannot_sign_in_to_google(alone: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("google.cloud.storage")
    (tmp_path / "wrong").write_text("{}")
    alone.setenv("DET_GCS_CREDENTIALS_FILE", str(tmp_path / "wrong"))
    with pytest.raises(errors.NoDirectStorageAccess, match="cannot sign in to Google Cloud"):
        storage.build(GCS, container_path=None)


def signed_by(config: Dict[str, Any]) -> str:
    """Return the key with which a manager signs, "token" if it uses a token, or ""."""
    manager: Any = storage.build(config, container_path=None)
    assert "sig=" not in str(manager) and str(manager) == f"{URL}/c/team"
    if "sig=" in manager.client.url:
        return "token"
    credential = manager.client.credential
    return "" if credential is None else str(credential.account_key)


def test_how_one_signs_in_to_azure(alone: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("azure.storage.blob")
    assert signed_by(AZURE) == ""
    assert signed_by({**AZURE, "credential": KEY}) == KEY
    assert signed_by({**AZURE, "credential": "sv=2021-08-06&sig=x"}) == "token"
    assert signed_by({**AZURE, "account_url": f"{URL}?sv=2021-08-06&sig=x"}) == "token"
    string = f"AccountName=lab;AccountKey={KEY}"
    assert signed_by({"type": "azure", "container": "c/team/", "connection_string": string}) == KEY
    alone.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2021-08-06&sig=x")
    assert signed_by(AZURE) == ""  # whose token is it?
    alone.setenv("AZURE_STORAGE_ACCOUNT", "lab")
    assert signed_by(AZURE) == "token"
    alone.setenv("AZURE_STORAGE_KEY", KEY)
    assert signed_by(AZURE) == KEY
    for other in ("https://lab.blob.core.windows.net.example.com", "https://lab.blob.example.com"):
        made: Any = storage.build({**AZURE, "account_url": other}, container_path=None)
        assert made.client.credential is None
    alone.setenv("AZURE_STORAGE_ACCOUNT", "another")
    assert signed_by(AZURE) == ""
    alone.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=other;AccountKey={KEY}")
    with pytest.raises(errors.NoDirectStorageAccess, match=r"that of https://other\.blob"):
        storage.build(AZURE, container_path=None)
    secret = tmp_path / "azure.json"
    alone.setenv("DET_AZURE_CREDENTIALS_FILE", str(secret))
    for fields in ({"credential": KEY}, {"connection_string": string}):
        secret.write_text(json.dumps(fields))
        assert signed_by(AZURE) == KEY
    # The configuration has precedence over all other sources.
    assert signed_by({**AZURE, "credential": "b3duIGtleQ=="}) == "b3duIGtleQ=="
