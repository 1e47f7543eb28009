"""A master for tests, which answers the calls of a task over real HTTP on loopback.

A ``Stub`` is the master's memory and outlives its servers, as a database does: ``stop`` ends the
server the hard way, with every connection, and ``start`` begins a new one on the same port.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple
from urllib import parse

# A test that waits longer than this fails.
DEADLINE = 30.0

Key = Tuple[int, str, str]
Answer = Tuple[int, Any]


class Request(NamedTuple):
    """One request, as it was received."""

    method: str
    path: str
    query: Dict[str, List[str]]
    headers: Dict[str, str]
    body: Optional[str]

    @property
    def json(self) -> Any:
        return json.loads(self.body or "null")


class Stub:
    """The master's data and behaviour."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.requests: List[Request] = []
        self.metrics: Dict[Key, Dict[str, Any]] = {}
        self.order: List[Key] = []
        self.repeats = 0
        self.checkpoints: Dict[str, Any] = {}
        self.run_metadata: Dict[str, Any] = {}
        self.preempt = False
        self.deadline: Optional[str] = None
        self.early_exit: Optional[str] = None
        self.best: Optional[float] = None
        self.operations: List[int] = []
        self.storage_id: Optional[int] = 7
        # If set, the answer to every request, which then changes nothing.
        self.broken: Optional[int] = None
        # For this number of requests: do them, then close the connection without an answer.
        self.lost_answers = 0
        # Answers by a pattern of the path.
        self.refusals: Dict[str, Answer] = {}
        # Answers by method and path: each request gets the next one, and the last one is repeated.
        self.replies: Dict[Tuple[str, str], List[Answer]] = {}
        self.port = 0
        self._server: Optional[_Server] = None
        self._thread: Optional[threading.Thread] = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, tls: Optional[ssl.SSLContext] = None) -> None:
        assert self._server is None
        self._server = _Server(("127.0.0.1", self.port), self)
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        """End the server and cut every connection, as a killed process would."""
        if self._server is None:
            return
        server, self._server = self._server, None
        with self.changed:
            self.changed.notify_all()
        server.shutdown()
        server.cut_connections()
        server.server_close()
        assert self._thread is not None
        self._thread.join()

    @property
    def serving(self) -> bool:
        return self._server is not None

    def wait_for(self, predicate: Callable[[], Any]) -> Any:
        """Wait until predicate is true (it is tested after each request); fail at the deadline."""
        with self.changed:
            found = self.changed.wait_for(predicate, timeout=DEADLINE)
        assert found, f"waited in vain; requests were {[r.path for r in self.requests[-20:]]}"
        return found

    def change(self, **values: Any) -> None:
        with self.changed:
            for name, value in values.items():
                assert hasattr(self, name)
                setattr(self, name, value)
            self.changed.notify_all()

    def sent(self, method: str, pattern: str) -> List[Request]:
        """The requests of a method whose path is matched by pattern."""
        with self.changed:
            return [r for r in self.requests if r.method == method and re.search(pattern, r.path)]

    def steps(self, group: str) -> List[int]:
        """The steps of a group's reports, in the order of their first arrival."""
        return [int(step) for _, name, step in self.order if name == group]

    def values(self, group: str, step: int, run: int = 1) -> Dict[str, Any]:
        return self.metrics[(run, group, str(step))]

    # The methods below run on the server's threads, while they hold ``changed``.

    def answer(self, request: Request) -> Answer:
        for pattern, refusal in self.refusals.items():
            if re.search(pattern, request.path):
                return refusal
        replies = self.replies.get((request.method, request.path))
        if replies:
            return replies.pop(0) if len(replies) > 1 else replies[0]
        for method, pattern, name in _ROUTES:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                handler: Callable[..., Answer] = getattr(self, name)
                return handler(request, *match.groups())
        return error(404, "NotFound", f"no route for {request.method} {request.path}")

    def report_metrics(self, request: Request, trial: str) -> Answer:
        body = request.json
        report = body["metrics"]
        assert report["trialId"] == int(trial)
        step = report.get("stepsCompleted")
        key = (
            report["trialRunId"],
            body["group"],
            str(report["reportTime"] if step is None else step),
        )
        values = report["metrics"]["avgMetrics"]
        stored = self.metrics.get(key)
        if stored is None:
            self.metrics[key] = values
            self.order.append(key)
            return 200, {}
        for name, value in values.items():
            if stored.setdefault(name, value) != value:
                return error(409, "Aborted", f"{name} has another value already at {key}")
        self.repeats += 1
        return 200, {}

    def accept(self, request: Request, *_: str) -> Answer:
        return 200, {}

    def report_early_exit(self, request: Request, _: str) -> Answer:
        if self.early_exit is not None:
            return error(400, "InvalidArgument", "early exit is set already")
        self.early_exit = request.json["reason"]
        return 200, {}

    def report_checkpoint(self, request: Request) -> Answer:
        self.checkpoints[request.json["uuid"]] = request.json
        return 200, {}

    def patch_checkpoints(self, request: Request) -> Answer:
        for change in request.json["checkpoints"]:
            self.checkpoints[change["uuid"]]["resources"] = change["resources"]["resources"]
        return 200, {}

    def get_checkpoint(self, request: Request, uuid: str) -> Answer:
        if uuid not in self.checkpoints:
            return error(404, "NotFound", f"checkpoint {uuid} not found")
        return 200, {"checkpoint": self.checkpoints[uuid]}

    def start_run(self, request: Request) -> Answer:
        return 200, {"storageId": self.storage_id}

    def preemption(self, request: Request, _: str) -> Answer:
        hold = int(request.query["timeout_seconds"][0])
        until = time.monotonic() + min(hold, DEADLINE)
        server = self._server
        while not self.preempt and self._server is server:
            left = until - time.monotonic()
            if left <= 0:
                break
            self.changed.wait(left)
        return 200, {"preempt": self.preempt, "deadline": self.deadline}

    def best_validation(self, request: Request, _: str) -> Answer:
        if self.best is None:
            return error(404, "NotFound", "no validations yet")
        return 200, {"metric": self.best}

    def get_trial(self, request: Request, trial: str) -> Answer:
        steps = self.steps("validation")
        last = {"totalBatches": steps[-1]} if steps else None
        done = max([0, *self.steps("training"), *steps])
        return 200, {
            "trial": {"id": int(trial), "latestValidation": last, "totalBatchesProcessed": done}
        }

    def list_checkpoints(self, request: Request, _: str) -> Answer:
        return 200, {"checkpoints": list(self.checkpoints.values())}

    def post_run_metadata(self, request: Request, _: str) -> Answer:
        self.run_metadata = request.json["metadata"]
        return 200, {"metadata": self.run_metadata}

    def get_run_metadata(self, request: Request, _: str) -> Answer:
        return 200, {"metadata": self.run_metadata}

    def operation(self, request: Request, _: str) -> Answer:
        if not self.operations:
            return 200, {"op": None, "completed": True}
        length = str(self.operations[0])
        return 200, {
            "op": {"validateAfter": {"requestId": "r", "length": length}},
            "completed": False,
        }

    def complete_operation(self, request: Request, _: str) -> Answer:
        if request.json["op"]["length"] != self.operations[0]:
            return error(400, "InvalidArgument", "another operation is due")
        self.operations.pop(0)
        return 200, {}


_ROUTES = (
    ("POST", r"/api/v1/trials/(\d+)/metrics", "report_metrics"),
    ("POST", r"/api/v1/trials/(\d+)/progress", "accept"),
    ("POST", r"/api/v1/trials/(\d+)/runner/metadata", "accept"),
    ("POST", r"/api/v1/trials/(\d+)/early_exit", "report_early_exit"),
    ("PATCH", r"/api/v1/trials/(\d+)", "accept"),
    ("GET", r"/api/v1/trials/(\d+)", "get_trial"),
    ("GET", r"/api/v1/trials/(\d+)/checkpoints", "list_checkpoints"),
    ("POST", r"/api/v1/checkpoints", "report_checkpoint"),
    ("PATCH", r"/api/v1/checkpoints", "patch_checkpoints"),
    ("GET", r"/api/v1/checkpoints/([\w-]+)", "get_checkpoint"),
    ("POST", r"/api/v1/runs/start", "start_run"),
    ("POST", r"/api/v1/runs/(\d+)/metadata", "post_run_metadata"),
    ("GET", r"/api/v1/runs/(\d+)/metadata", "get_run_metadata"),
    ("GET", r"/api/v1/allocations/([^/]+)/signals/preemption", "preemption"),
    ("POST", r"/api/v1/allocations/([^/]+)/signals/ack_preemption", "accept"),
    (
        "GET",
        r"/api/v1/experiments/(\d+)/searcher/best_searcher_validation_metric",
        "best_validation",
    ),
    ("GET", r"/api/v1/trials/(\d+)/searcher/operation", "operation"),
    ("POST", r"/api/v1/trials/(\d+)/searcher/completed_operation", "complete_operation"),
    ("POST", r"/api/v1/trial-source-info", "accept"),
    ("POST", r"/api/v1/webhooks/custom", "accept"),
)


def error(status: int, reason: str, message: str) -> Answer:
    """An error as the master writes it."""
    return status, {"error": {"code": 3, "reason": reason, "error": message}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address: Tuple[str, int], stub: Stub) -> None:
        self.stub = stub
        self._open: Set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect, which tests do; show other errors."""
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)

    def cut_connections(self) -> None:
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body in one packet: otherwise the client waits for the second packet.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        assert isinstance(self.server, _Server)
        stub = self.server.stub
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode() if length else None
        target = parse.urlsplit(self.path)
        request = Request(
            self.command,
            target.path,
            parse.parse_qs(target.query),
            dict(self.headers.items()),
            body,
        )
        with stub.changed:
            stub.requests.append(request)
            stub.changed.notify_all()
            if not stub.serving:
                self.close_connection = True
                return
            if stub.broken is not None:
                status, answer = error(stub.broken, "Unavailable", "the database is away")
            else:
                status, answer = stub.answer(request)
            lost = stub.lost_answers > 0 and request.method == "POST"
            if lost:
                stub.lost_answers -= 1
            stub.changed.notify_all()
        if lost or not stub.serving:
            self.close_connection = True
            return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve
