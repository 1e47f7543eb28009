"""Redirects and web proxies, over real sockets."""

from __future__ import annotations

import contextlib
import http.client
import pathlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from determined.common import api
from determined.common.api import certs, errors
from tests.stub_master import DEADLINE, Stub
from tests.test_tls import NAME, secure

__all__ = ["secure"]  # a fixture


@contextlib.contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[int]:
    """Run a server with a function for its answers; yield its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def any(self) -> None:
            answer(self)

        do_GET = do_POST = do_CONNECT = any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(DEADLINE)


def body_of(handler: BaseHTTPRequestHandler) -> bytes:
    return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))


def pointing(status: int, to: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """Redirects; {path} stands for the path of the request."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body_of(handler)
        handler.send_response(status)
        handler.send_header("Location", to.replace("{path}", handler.path))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def session(url: str, cert: Any = None) -> api.Session:
    return api.Session(url, "ann", "user-token", cert, max_retries=0)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_balancer_that_wants_https(secure: Tuple[Stub, str, pathlib.Path], status: int) -> None:
    """Every request arrives as it was sent, its method, body and token included."""
    stub, url, file = secure
    cert = certs.from_names(str(file), NAME)
    with serving(pointing(status, url + "{path}")) as port, session(
        f"http://127.0.0.1:{port}", cert
    ) as client:
        assert client.get("/api/v1/trials/12", params={"a": "b c"}).json()["trial"]["id"] == 12
        client.post("/api/v1/trials/12/progress", json={"progress": 0.5})
        with client.open("/api/v1/trials/12") as response:
            assert b"trial" in response.read()
    assert [(r.method, r.path) for r in stub.requests] == [
        ("GET", "/api/v1/trials/12"),
        ("POST", "/api/v1/trials/12/progress"),
        ("GET", "/api/v1/trials/12"),
    ]
    assert stub.requests[0].query == {"a": ["b c"]}
    assert stub.requests[1].json == {"progress": 0.5}
    assert all(r.headers["Authorization"] == "Bearer user-token" for r in stub.requests)


def test_a_path_that_moved(stub: Stub) -> None:
    with serving(pointing(307, f"{stub.url}/api/v1/trials/12")) as port, session(
        f"http://127.0.0.1:{port}"
    ) as client:
        assert client.get("/old").json()["trial"]["id"] == 12
    with serving(pointing(302, f"{stub.url}/api/v1/trials/12/progress")) as port, session(
        f"http://127.0.0.1:{port}"
    ) as client, pytest.raises(errors.BadRequestException, match="asks for another request"):
        client.post("/old", json={})
    assert not stub.sent("POST", "progress")


def test_where_no_redirect_leads() -> None:
    for to, message in (
        ("http://elsewhere.example/x", "another host, to which this session's token is not sent"),
        ("ftp://127.0.0.1/x", "another host"),
        ("{path}", "redirects in a loop"),
    ):
        with serving(pointing(307, to)) as port, session(f"http://127.0.0.1:{port}") as client:
            for call in (lambda: client.get("/x"), lambda: client.open("/x").__enter__()):
                with pytest.raises(errors.BadRequestException, match=message):
                    call()
    follow = api._redirect.follow
    with pytest.raises(errors.BadRequestException, match="not encrypted"):
        follow("GET", "https://m/x", 301, "http://m/x")
    assert follow("GET", "https://m/x", 304, None) is None


class Proxy:
    """A web proxy that connects every request to one port."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.asked: List[str] = []
        self.signed: List[str] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(f"{handler.command} {handler.path}")
        self.signed.append(handler.headers.get("Proxy-Authorization", ""))
        if handler.command == "CONNECT":
            self._tunnel(handler)
            return
        connection = http.client.HTTPConnection("127.0.0.1", self._target, timeout=DEADLINE)
        path = "/" + handler.path.split("/", 3)[3]
        headers = dict(handler.headers.items())
        connection.request(handler.command, path, body_of(handler), headers)
        response = connection.getresponse()
        data = response.read()
        handler.send_response(response.status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        connection.close()

    def _tunnel(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with socket.create_connection(("127.0.0.1", self._target)) as far:
            back = threading.Thread(target=_copy, args=(far, handler.connection))
            back.start()
            _copy(handler.connection, far)
            back.join(DEADLINE)
        handler.close_connection = True


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data = source.recv(1 << 16)
            if not data:
                break
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_a_web_proxy(stub: Stub, no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy(stub.port)
    with serving(proxy.answer) as port:
        monkeypatch.setenv("http_proxy", f"http://us%40er:pass@127.0.0.1:{port}")
        with session("http://master.example:8080") as client:
            client.get("/api/v1/trials/12")
            client.post("/api/v1/trials/12/progress", json={"progress": 1})
            with client.open("/api/v1/trials/12") as response:
                assert b"trial" in response.read()
    assert proxy.asked == [
        "GET http://master.example:8080/api/v1/trials/12",
        "POST http://master.example:8080/api/v1/trials/12/progress",
        "GET http://master.example:8080/api/v1/trials/12",
    ]
    assert set(proxy.signed) == {"Basic dXNAZXI6cGFzcw=="}
    assert [r.headers["Host"] for r in stub.requests] == ["master.example:8080"] * 3


def test_a_tunnel_to_a_master_with_tls(
    secure: Tuple[Stub, str, pathlib.Path],
    no_proxies: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stub, _, file = secure
    proxy = Proxy(stub.port)
    with serving(proxy.answer) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{port}")
        # The master's certificate is for the host name of the request.
        with session(f"https://{NAME}:443", certs.from_names(str(file), None)) as client:
            assert client.get("/api/v1/trials/12").status_code == 200
            client.post("/api/v1/trials/12/progress", json={"progress": 1})
    assert proxy.asked == [f"CONNECT {NAME}:443"]


@pytest.mark.parametrize(
    "variables",
    [
        {"no_proxy": "other.example,127.0.0.1"},
        {},  # loopback is never asked for through a proxy
    ],
)
def test_without_a_proxy(
    stub: Stub, no_proxies: None, monkeypatch: pytest.MonkeyPatch, variables: Dict[str, str]
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with session(stub.url) as client:
        assert client.get("/api/v1/trials/12").status_code == 200


def test_which_proxy(no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    find = api._proxy.proxy_for
    assert find("http", "m.example", 80) is None
    monkeypatch.setenv("all_proxy", "http://p.example:3128")
    assert find("https", "m.example", 443) == ("p.example", 3128, {})
    monkeypatch.setenv("no_proxy", ".example")
    assert find("https", "m.example", 443) is None
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("https_proxy", "socks5://p.example:1080")
    with pytest.raises(errors.BadRequestException, match="only http:// proxies are supported"):
        find("https", "m.example", 443)
