import pathlib
import shutil
import ssl
import subprocess
from typing import Iterator, Tuple

import pytest

from determined.common import api
from determined.common.api import certs, errors
from tests.stub_master import Stub

NAME = "master.example.internal"


@pytest.fixture
def secure(tmp_path: pathlib.Path) -> Iterator[Tuple[Stub, str, pathlib.Path]]:
    """A master with a self-signed certificate, for a name that does not resolve."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl program to make a certificate")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command = [openssl, "req", "-x509", *kind, "-nodes", "-days", "2", *subject]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(cert), str(key))
    stub = Stub()
    stub.start(context)
    yield stub, f"https://127.0.0.1:{stub.port}", cert
    stub.stop()


def get(url: str, cert: certs.Cert) -> int:
    with api.Session(url, "ann", "token", cert, max_retries=0) as session:
        return session.get("/api/v1/trials/12").status_code


def test_named_authority_and_name(secure: Tuple[Stub, str, pathlib.Path]) -> None:
    _, url, file = secure
    assert get(url, certs.from_names(str(file), NAME)) == 200


def test_other_name_is_refused(secure: Tuple[Stub, str, pathlib.Path]) -> None:
    stub, url, file = secure
    with pytest.raises(errors.BadRequestException, match="is not trusted"):
        get(url, certs.from_names(str(file), None))
    assert not stub.requests


def test_unknown_authority_is_refused_and_not_asked_again(
    secure: Tuple[Stub, str, pathlib.Path],
) -> None:
    stub, url, _ = secure
    session = api.Session(url, "ann", "token", certs.from_names(None, NAME), max_retries=5)
    with session, pytest.raises(errors.BadRequestException, match="DET_MASTER_CERT_FILE") as caught:
        session.get("/api/v1/trials/12")
    assert not isinstance(caught.value, errors.MasterNotFoundException)
    assert not stub.requests


def test_noverify(secure: Tuple[Stub, str, pathlib.Path]) -> None:
    _, url, _ = secure
    assert get(url, certs.from_names("noverify", None)) == 200


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert certs.default_load("https://m:443") == certs.Cert()
    monkeypatch.setenv("DET_MASTER_CERT_FILE", "/no/such/file")
    with pytest.raises(ValueError, match=r"names /no/such/file, .*needed to reach https://m:443"):
        certs.default_load("https://m:443")
