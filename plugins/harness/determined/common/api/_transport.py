"""HTTP over connections that are kept: the lowest layer of a session.

One ``Transport`` belongs to one session. It keeps idle connections for reuse and has a list of
those in use, so ``close`` in another thread ends even a long poll at once.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Set
from urllib import parse

from determined.common.api import certs, errors
from determined.common.api._proxy import proxy_for

# Timeout for opening a connection; each request has its own timeout for the answer.
CONNECT_TIMEOUT = 10.0

# Idle connections kept: the main thread's, the reporter's, and one to spare.
MAX_IDLE = 3


class _Headers(Dict[str, str]):
    """Header fields; lookups ignore the case of names."""

    def __init__(self, message: http.client.HTTPMessage) -> None:
        super().__init__((name.lower(), value) for name, value in message.items())

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field's value."""
        return super().get(name.lower(), default)

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def response_headers(response: http.client.HTTPResponse) -> Mapping[str, str]:
    """Return the header fields of an answer; lookups ignore the case of names."""
    return _Headers(response.headers)


class _TLSConnection(http.client.HTTPSConnection):
    """An HTTPS connection that can expect another name than the host's in the certificate."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, context=context, timeout=CONNECT_TIMEOUT)
        self._tls = context
        self._expected_name = name

    def connect(self) -> None:
        """Connect, through a proxy if there is one, then speak TLS under the expected name."""
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._expected_name)


class Transport:
    """Connections to one master."""

    def __init__(self, master: str, cert: Optional[certs.Cert]) -> None:
        parsed = parse.urlsplit(master)
        assert parsed.hostname is not None and parsed.port is not None
        self._master = master
        self._host = parsed.hostname
        self._port = parsed.port
        self._base = parsed.path.rstrip("/")
        self._cert = cert or certs.Cert()
        self._tls = self._cert.context() if parsed.scheme == "https" else None
        self._proxy = proxy_for(parsed.scheme, self._host, self._port)
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []
        self._busy: Set[http.client.HTTPConnection] = set()
        self._closed = threading.Event()
        self._ended = False

    @property
    def closing(self) -> bool:
        """Whether close was called since the last request began."""
        return self._closed.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for some seconds, or until the transport is closed; return whether it was closed."""
        return self._closed.wait(seconds)

    def exchange(
        self,
        method: str,
        target: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
        timeout: float,
    ) -> Answer:
        """Send one request and read its answer; MasterNotFoundException if there is none."""
        connection = self._take()
        reused = connection.sock is not None
        try:
            try:
                answer = self._talk(connection, method, target, body, headers, timeout)
            except (http.client.RemoteDisconnected, ConnectionError):
                # The far side may end an idle connection at any time; that says nothing about
                # whether it answers now.
                if not reused or self.closing:
                    raise
                connection.close()
                answer = self._talk(connection, method, target, body, headers, timeout)
        except ssl.SSLCertVerificationError as err:
            self._drop(connection)
            raise self._untrusted(err) from err
        except (OSError, http.client.HTTPException) as err:
            self._drop(connection)
            raise self._unanswered(method, target, err) from err
        except BaseException:
            self._drop(connection)
            raise
        self._give_back(connection)
        return answer

    @contextlib.contextmanager
    def stream(
        self, method: str, target: str, headers: Mapping[str, str], timeout: Optional[float]
    ) -> Iterator[http.client.HTTPResponse]:
        """Send one request and provide its answer unread; the body may be endless.

        The request has its own connection, which ends with the block. ``timeout`` limits each wait
        for more data; None waits until the server closes the connection.
        """
        connection = self._fresh()
        try:
            try:
                connection.connect()
                sock: socket.socket = connection.sock
                sock.settimeout(timeout)
                self._request(connection, method, target, None, headers)
                response = connection.getresponse()
            except ssl.SSLCertVerificationError as err:
                raise self._untrusted(err) from err
            except (OSError, http.client.HTTPException) as err:
                raise self._unanswered(method, target, err) from err
            try:
                yield response
            except (OSError, http.client.HTTPException) as err:
                raise errors.MasterNotFoundException(
                    f"the answer of {self._master} to {method} {target} broke off: "
                    f"{str(err) or type(err).__name__}"
                ) from err
        finally:
            self._drop(connection)

    def _fresh(self) -> http.client.HTTPConnection:
        with self._lock:
            if self._ended:
                raise errors.MasterNotFoundException(f"the session with {self._master} has ended")
            self._closed.clear()
            connection = self._new()
            self._busy.add(connection)
            return connection

    def _untrusted(self, err: ssl.SSLCertVerificationError) -> errors.BadRequestException:
        return errors.BadRequestException(
            f"the certificate of {self._master} is not trusted: {err}. Name its authority "
            "in DET_MASTER_CERT_FILE, or its name in DET_MASTER_CERT_NAME."
        )

    def _unanswered(
        self, method: str, target: str, err: Exception
    ) -> errors.MasterNotFoundException:
        reason = str(err) or type(err).__name__
        return errors.MasterNotFoundException(
            f"no answer from the master at {self._master} to {method} {target}: {reason}"
        )

    def _talk(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
        timeout: float,
    ) -> Answer:
        if connection.sock is None:
            connection.connect()
        sock: socket.socket = connection.sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(timeout)
        self._request(connection, method, target, body, headers)
        response = connection.getresponse()
        return Answer(response.status, _Headers(response.headers), response.read())

    def _request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
    ) -> None:
        path = self._base + target
        all_headers = dict(headers)
        if self._proxy is not None and self._tls is None:
            # A proxy is told the whole address; what is encrypted goes through a tunnel.
            host = f"[{self._host}]" if ":" in self._host else self._host
            path = f"http://{host}:{self._port}{path}"
            all_headers.update(self._proxy.headers)
        connection.request(method, path, body=body, headers=all_headers)

    def _take(self) -> http.client.HTTPConnection:
        with self._lock:
            if self._ended:
                raise errors.MasterNotFoundException(f"the session with {self._master} has ended")
            self._closed.clear()
            connection = self._idle.pop() if self._idle else self._new()
            self._busy.add(connection)
            return connection

    def _new(self) -> http.client.HTTPConnection:
        host, port = self._host, self._port
        if self._proxy is not None:
            host, port = self._proxy.host, self._proxy.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT)
        connection = _TLSConnection(host, port, self._tls, self._cert.name or self._host)
        if self._proxy is not None:
            connection.set_tunnel(self._host, self._port, self._proxy.headers)
        return connection

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._busy.discard(connection)
            if not self.closing and connection.sock is not None and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._busy.discard(connection)
        connection.close()

    def close(self, for_good: bool = False) -> None:
        """Drop idle connections and abort those in use; ``for_good`` also allows no new ones."""
        with self._lock:
            self._closed.set()
            self._ended = self._ended or for_good
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for connection in idle:
            connection.close()
        for connection in busy:
            # The thread that reads from it wakes with an error and closes it itself.
            sock = connection.sock
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
