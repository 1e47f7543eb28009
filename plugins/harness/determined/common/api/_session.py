"""Sessions: requests to one master, with authentication, retries and typed errors."""

from __future__ import annotations

import contextlib
import copy
import http.client
import json as _json
import logging
import time
from types import TracebackType
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Type, TypeVar, Union
from urllib import parse

from determined import util
from determined.common.api import _redirect, _retry, certs, errors
from determined.common.api._transport import Answer, Transport, response_headers
from determined.common.api._url import canonicalize_master_url

logger = logging.getLogger("determined.api")

T = TypeVar("T", bound="BaseSession")

# Requests that the master may answer late set a timeout of their own.
DEFAULT_TIMEOUT = 60.0


class Response:
    """An answer of the master.

    Example::

        response = session.get("/api/v1/master")
        if response.ok:
            print(response.json()["version"], response.text)
        elif response.retry_after:
            time.sleep(response.retry_after)
    """

    def __init__(self, answer: Answer, url: str) -> None:
        self.status_code = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self.content = answer.body
        self.url = url

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.status_code < 400

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", errors="replace")

    def json(self) -> Any:
        """The body as JSON; ValueError if it is not JSON."""
        return _json.loads(self.content)

    @property
    def retry_after(self) -> Optional[float]:
        """The seconds until a retry that the server proposes, or None."""
        value = self.headers.get("Retry-After")
        return float(value) if value is not None and value.isdigit() else None


class BaseSession:
    """Requests to one master.

    Several threads may use a session: each request takes an idle connection of the
    session's, or opens one. ``close`` drops the connections; a later request opens new ones.
    A session may send every request more than once, because an answer can be lost: a request
    that creates an experiment or a task has a key by which the master recognizes a repetition.
    Objects with a unique name (users, workspaces, projects) are created once in any case; if the
    first answer was lost, the second one reports that the name is in use.
    A session follows redirects within the master's host, and uses the proxies in the environment.

    Example::

        with session.with_retry(3) as patient:       # a session of its own, which tries three times
            me = patient.get("/api/v1/me").json()["user"]
            patient.post("/api/v1/experiments/5/pause")
            patient.patch("/api/v1/experiments/5", json={"name": "a new name"})
            patient.put("/api/v1/experiments/5/labels/mine")
            patient.delete("/api/v1/experiments/5/labels/mine")
            for entry in patient.stream("/api/v1/trials/7/logs", params={"follow": "true"}):
                print(entry["message"])
            with patient.open("/checkpoints/" + uuid) as response:
                contents = response.read()
        session.close()                              # closes the connections
        session.end()                                # and makes later requests fail
    """

    def __init__(
        self,
        master: str,
        cert: Optional[certs.Cert] = None,
        max_retries: Union[_retry.RetryPolicy, int, None] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        if master != canonicalize_master_url(master):
            raise RuntimeError(
                f"a session takes a canonical master url, {canonicalize_master_url(master)}, "
                f"not {master}"
            )
        self.master = master
        self.cert = cert
        self._retry = _policy(max_retries)
        self._headers = dict(headers or {})
        self._transport = Transport(master, cert)
        # By origin: the addresses to which the master's host has redirected.
        self._elsewhere: Dict[str, Transport] = {}

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop idle connections, and abort those in use."""
        self._close(for_good=False)

    def end(self) -> None:
        """Close for good: current and later requests fail at once."""
        self._close(for_good=True)

    def _close(self, for_good: bool) -> None:
        self._transport.close(for_good)
        for transport in list(self._elsewhere.values()):
            transport.close(for_good)

    def with_retry(self: T, max_retries: Union[_retry.RetryPolicy, int]) -> T:
        """Return a session like this one with another policy and connections of its own."""
        other = copy.copy(self)
        other._retry = _policy(max_retries)
        other._transport = Transport(self.master, self.cert)
        other._elsewhere = {}
        return other

    def get(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """Send a GET request."""
        return self._request("GET", path, params, None, None, headers, timeout)

    def delete(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        json: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """Send a DELETE request."""
        return self._request("DELETE", path, params, json, None, headers, timeout)

    def post(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        json: Any = None,
        data: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """Send a POST request; ``data`` is encoded JSON."""
        return self._request("POST", path, params, json, data, headers, timeout)

    def patch(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        json: Any = None,
        data: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """Send a PATCH request."""
        return self._request("PATCH", path, params, json, data, headers, timeout)

    def put(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        json: Any = None,
        data: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """Send a PUT request."""
        return self._request("PUT", path, params, json, data, headers, timeout)

    def stream(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Iterator[Any]:
        """Yield the records of a stream as they arrive.

        A stream is requested only once, because a repetition would yield records again.
        """
        with self.open(path, params=params, timeout=timeout) as response:
            for line in response:
                if not line.strip():
                    continue
                record = _json.loads(line)
                if record.get("error"):
                    raise errors.StreamException(self.master, path, record["error"])
                yield record.get("result")

    @contextlib.contextmanager
    def open(
        self,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = DEFAULT_TIMEOUT,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a GET request and provide the answer, whose body can be read in parts."""
        target = _target(path, params)
        all_headers = {**self._headers, **(headers or {})}
        transport, url = self._transport, self.master + target
        for _ in range(_redirect.MAX_REDIRECTS + 1):
            with transport.stream("GET", target, all_headers, timeout) as response:
                found = response_headers(response)
                moved = _redirect.follow("GET", url, response.status, found.get("Location"))
                if moved is None:
                    if response.status >= 300:
                        answer = Answer(response.status, found, response.read())
                        _raise_for_status(Response(answer, url))
                    yield response
                    return
            url = moved
            transport, target = self._route(url)
        raise errors.BadRequestException(f"{self.master} redirects in a loop, to {url}")

    def _request(
        self,
        method: str,
        path: str,
        params: Optional[Mapping[str, Any]],
        json: Any,
        data: Optional[str],
        headers: Optional[Mapping[str, str]],
        timeout: Optional[float],
    ) -> Response:
        if json is not None and data is not None:
            raise ValueError("a request takes json or data, not both")
        if json is not None:
            data = util.json_encode(json)
        target = _target(path, params)
        all_headers = {**self._headers, **(headers or {})}
        body = None
        if data is not None:
            body = data.encode("utf-8")
            all_headers.setdefault("Content-Type", "application/json")
        response = self._send(method, target, body, all_headers, timeout or DEFAULT_TIMEOUT)
        _raise_for_status(response)
        return response

    def _send(
        self,
        method: str,
        target: str,
        body: Optional[bytes],
        headers: Dict[str, str],
        timeout: float,
    ) -> Response:
        """Send until the master answers or the policy allows no further attempt."""
        url = self.master + target
        started = time.monotonic()
        attempts = 0
        while True:
            attempts += 1
            response: Optional[Response] = None
            failure: Optional[errors.MasterNotFoundException] = None
            retry_after: Optional[float] = None
            try:
                response = self._exchange(method, target, body, headers, timeout)
            except errors.MasterNotFoundException as err:
                failure = err
            if response is not None:
                retry_after = response.retry_after
                if not self._worth_repeating(response):
                    return response
            again = self._retry.allows(attempts, time.monotonic() - started)
            if again and not self._transport.closing:
                pause = self._retry.pause(attempts, retry_after)
                logger.debug("%s %s: no answer, again in %.1fs", method, url, pause)
                again = not self._transport.wait(pause)
            if not again or self._transport.closing:
                if response is not None:
                    return response
                assert failure is not None
                raise failure

    def _exchange(
        self,
        method: str,
        target: str,
        body: Optional[bytes],
        headers: Dict[str, str],
        timeout: float,
    ) -> Response:
        """Send once, and follow redirects."""
        transport, url = self._transport, self.master + target
        for _ in range(_redirect.MAX_REDIRECTS + 1):
            answer = transport.exchange(method, target, body, headers, timeout)
            moved = _redirect.follow(method, url, answer.status, answer.headers.get("Location"))
            if moved is None:
                return Response(answer, url)
            url = moved
            transport, target = self._route(url)
        raise errors.BadRequestException(f"{self.master} redirects in a loop, to {url}")

    def _route(self, url: str) -> Tuple[Transport, str]:
        """Return the connections to the origin of an address, and the path to request there."""
        origin, target = _redirect.split(url)
        transport = self._elsewhere.get(origin)
        if transport is None:
            transport = self._elsewhere.setdefault(origin, Transport(origin, self.cert))
        return transport, target

    def _worth_repeating(self, response: Response) -> bool:
        if response.status_code in self._retry.status_forcelist:
            return True
        return response.status_code == 429 and response.retry_after is not None


class UnauthSession(BaseSession):
    """A session for the calls that need no sign-in.

    Example: ``api.UnauthSession("http://localhost:8080").get("/info").json()``
    """


class Session(BaseSession):
    """A session of a user, who has signed in.

    Example: ``api.Session("http://localhost:8080", "ada", token, None).get("/api/v1/me")``
    """

    AUTH_HEADER = "Authorization"

    def __init__(
        self,
        master: str,
        username: str,
        token: str,
        cert: Optional[certs.Cert] = None,
        max_retries: Union[_retry.RetryPolicy, int, None] = None,
    ) -> None:
        super().__init__(master, cert, max_retries, {self.AUTH_HEADER: f"Bearer {token}"})
        self.username = username
        self.token = token


class TaskSession(Session):
    """A session of a task, with the token of its allocation.

    Example: ``api.authentication.login_from_task(info.master_url, None)``
    """

    AUTH_HEADER = "Grpc-Metadata-x-allocation-token"


def _policy(retries: Union[_retry.RetryPolicy, int, None]) -> _retry.RetryPolicy:
    if retries is None:
        return _retry.RetryPolicy()
    if isinstance(retries, int):
        return _retry.RetryPolicy(total=retries)
    return retries


def _target(path: str, params: Optional[Mapping[str, Any]]) -> str:
    target = "/" + path.lstrip("/")
    if params:
        target += "?" + parse.urlencode(_query(params), doseq=True)
    return target


def _query(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return query values in the form that the master reads; values of None are left out."""
    spelled: Dict[str, Any] = {}
    for key, value in params.items():
        if value is None:
            continue
        spelled[key] = str(value).lower() if isinstance(value, bool) else value
    return spelled


def _raise_for_status(response: Response) -> None:
    status = response.status_code
    if status < 300:
        return
    if status == 401 and parse.urlsplit(response.url).path.endswith("/auth/login"):
        raise errors.InvalidCredentialsException()
    if status == 401:
        raise errors.UnauthenticatedException(
            f"Unauthenticated: the master rejected the token for {response.url}: "
            f"{errors.error_text(response)}"
        )
    if status == 403:
        raise errors.ForbiddenException(errors.error_text(response))
    if status == 404:
        raise errors.NotFoundException(errors.error_text(response))
    raise errors.APIException(response)
