"""Sends random requests to each operation of a master's OpenAPI document.

The standard input is a JSON object: base, seed, tries, seconds, callers, values (see fuzz_test.go).
Each line of the standard output is a JSON object: a finding, or, as the last one, the counts.

Schemathesis makes the requests from the types of the document. Random names would find no object, and a
random text is no configuration, so most parameters and fields that the table `values` knows get one of its
values instead: what is in the database, and what each enumeration contains.
"""

import collections
import http.client
import json
import random
import sys
import time
import urllib.parse
import warnings

import hypothesis
import requests
import schemathesis
from schemathesis import GenerationMode

warnings.filterwarnings("ignore")

KNOWN = 0.85  # how often a value of the table replaces a random one
HEADERS_WITHIN = 30  # seconds until the status; a call that waits for an event is left earlier
LEFT_AFTER = 0.3  # seconds without a byte after which a stream is left, which does not end by itself
READ_AT_MOST = 1 << 20

# Calls that wait for an event, up to a minute, and calls that sample as long as their caller asks.
WAITS = (
    "/signals/preemption", "/signals/pending_preemption", "/rendezvous", "/watch", "/all_gather", "/searcher/operation", "/debug/pprof",
    "/searcher_events", "/search-news", "/api/v1/detent/live", "/stream", "/metrics-stream/", "/tensorboard-files", "/experiments/continue",
)  # fmt: skip

# The end of the caller's own session is left to other tests: all further answers would be 401.
LEFT_OUT = ("/auth/logout", "/logout", "/users/{id}/password", "/detent/sessions/{id}", "/oidc/logout")

# What belongs to an order of methods: objects must be there for as long as possible.
ORDER = ["get", "post", "put", "patch", "delete"]
ENDS = ("/kill", "/cancel", "/delete", "/rm", "/disable", "/archive", "/remove-assignments", "/cleanup_logs")

# The kinds of callers that an operation names in its description, by the caller.
MAY = {
    "admin": ("anybody", "users", "admins"),
    "editor": ("anybody", "users"),
    "viewer": ("anybody", "users"),
    "nobody": ("anybody",),
    "task": ("anybody", "tasks", "the task itself"),
}


def stage(op):
    """Reading before writing before removing."""
    late = op.method.lower() == "delete" or op.path.endswith(ENDS)
    return (late, ORDER.index(op.method.lower()) if op.method.lower() in ORDER else 1, op.path)


def body_of(answer):
    """The first of a body: a stream is silent at some time, or never."""
    pieces = []
    try:
        while sum(map(len, pieces)) < READ_AT_MOST and (piece := answer.read1(65536)):
            pieces.append(piece)
    except TimeoutError:
        pass
    return b"".join(pieces)


class Fuzzer:
    def __init__(self, plan):
        self.plan = plan
        self.counts = collections.defaultdict(collections.Counter)
        self.by_operation = collections.defaultdict(collections.Counter)
        self.slowest = (0.0, "")
        self.http = requests.Session()
        document = self.http.get(plan["base"] + "/api/v1/openapi.json", timeout=HEADERS_WITHIN).json()
        self.schema = schemathesis.openapi.from_dict(document)
        self.operations = sorted((r.ok() for r in self.schema.get_all_operations()), key=stage)
        self.descriptions = {(m, p): o["description"] for p, item in document["paths"].items() for m, o in item.items()}

    def values(self, op, name, caller):
        """The known values of a parameter or field, for an operation on a noun."""
        noun = op.path.removeprefix("/api/v1").strip("/").removeprefix("detent/").split("/")[0]
        for key in (f"{caller}:{noun}.{name}", f"{caller}:{name}", f"{noun}.{name}", name):
            if key in self.plan["values"]:
                return self.plan["values"][key]
        return None

    def fit(self, op, caller, tree, rng, depth=0):
        """Puts known values into a generated value."""
        if isinstance(tree, list):
            return [self.fit(op, caller, x, rng, depth + 1) for x in tree]
        if not isinstance(tree, dict) or depth > 6:
            return tree
        fitted = {}
        for name, value in tree.items():
            known = self.values(op, name, caller)
            fitted[name] = rng.choice(known) if known and rng.random() < KNOWN else self.fit(op, caller, value, rng, depth + 1)
        return fitted

    def send(self, op, caller, case, rng):
        case.path_parameters = {k: str(v) for k, v in self.fit(op, caller["name"], dict(case.path_parameters or {}), rng).items()}
        case.query = {k: v for k, v in self.fit(op, caller["name"], dict(case.query or {}), rng).items() if rng.random() < 0.6}
        if isinstance(case.body, dict):
            case.body = self.fit(op, caller["name"], case.body, rng)
            # Fields that a request may omit are omitted half of the time, and the body that the table has for
            # an operation is sent half of the time: most need several fields that agree.
            whole = self.values(op, f"{op.method.upper()} {op.path}", caller["name"])
            if whole and rng.random() < 0.6:
                case.body = {k: rng.choice(self.values(op, k, caller["name"]) or [[]]) if v == [] else v for k, v in rng.choice(whole).items()}
            elif rng.random() < 0.7:
                known = [k for k in case.body if self.values(op, k, caller["name"])]
                case.body = {k: v for k, v in case.body.items() if k in known and rng.random() < 0.7}
        case.cookies = {}
        waits = any(w in op.path for w in WAITS)
        try:
            kwargs = case.as_transport_kwargs(base_url=self.plan["base"])
            kwargs.pop("cookies", None)
            kwargs["headers"] = {**(kwargs.get("headers") or {}), **caller["headers"]}
            request = requests.Request(**{k: v for k, v in kwargs.items() if k in ("method", "url", "params", "json", "data", "headers")}).prepare()
        except (requests.exceptions.RequestException, UnicodeError, ValueError, TypeError):
            self.counts[caller["name"]]["not sent"] += 1  # no HTTP client can send it
            return
        url = urllib.parse.urlsplit(request.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=LEFT_AFTER if waits else HEADERS_WITHIN)
        began = time.monotonic()
        try:
            connection.request(request.method, url.path + ("?" + url.query if url.query else ""), request.body, dict(request.headers))
            answer = connection.getresponse()
            took = time.monotonic() - began
            connection.sock and connection.sock.settimeout(LEFT_AFTER)
            self.note(op, caller, answer.status, body_of(answer), request, took)
        except TimeoutError:
            if not waits:
                self.find("hang", op, caller, request, f"no status within {HEADERS_WITHIN} s")
        except (OSError, http.client.HTTPException) as e:
            self.find("broken", op, caller, request, repr(e))
        except (UnicodeError, ValueError):
            self.counts[caller["name"]]["not sent"] += 1
        finally:
            connection.close()

    def note(self, op, caller, status, body, request, took):
        self.counts[caller["name"]][status] += 1
        self.by_operation[f"{op.method.upper()} {op.path}"][status] += 1
        self.slowest = max(self.slowest, (took, f"{op.method.upper()} {op.path}"))
        if status >= 500 and status != 501:  # 501: the master says that it has no such part
            self.find("status", op, caller, request, f"{status}: {body[:600].decode(errors='replace')}")
        if status == 401 and caller["name"] not in ("nobody", "task"):
            self.sign_in(caller)

    def sign_in(self, caller):
        """A session may have ended: a password is new, say."""
        if self.http.get(self.plan["base"] + "/api/v1/me", headers=caller["headers"], timeout=HEADERS_WITHIN).status_code != 401:
            return
        def login():
            return self.http.post(
                self.plan["base"] + "/api/v1/auth/login", json={"username": caller["username"], "password": ""}, timeout=HEADERS_WITHIN
            )

        answer = login()
        if not answer.ok:  # deactivated, or with another password
            self.http.post(self.plan["revive"], timeout=HEADERS_WITHIN).raise_for_status()
            answer = login()
        if answer.ok:
            caller["headers"] = {"Authorization": "Bearer " + answer.json()["token"]}
        self.counts[caller["name"]]["signed in again" if answer.ok else "cannot sign in again"] += 1

    def find(self, kind, op, caller, request, what):
        print(json.dumps({"kind": kind, "operation": f"{op.method.upper()} {op.path}", "caller": caller["name"], "what": what, "request": repr((request.method, request.url, request.body))[:1500]}), flush=True)

    def run_one(self, op, tries):
        """Generated requests of one operation, each sent by all who may call it, and the first by the others."""
        name = f"{op.method} {op.path}"
        rng = random.Random(f"{self.plan['seed']} {name}")
        access = self.descriptions[(op.method.lower(), op.path)]
        may = [c for c in self.plan["callers"] if any(who in access for who in MAY[c["name"]])]
        others = [c for c in self.plan["callers"] if c not in may]
        for mode, share in ((GenerationMode.POSITIVE, max(1, tries * 3 // 4)), (GenerationMode.NEGATIVE, (tries + 2) // 4)):
            if share == 0:  # one try alone
                continue
            try:
                strategy = op.as_strategy(generation_mode=mode)
            except Exception:  # nothing can be wrong about a request without parameters
                continue

            @hypothesis.seed(f"{self.plan['seed']} {name}")
            @hypothesis.settings(
                max_examples=share, database=None, deadline=None, phases=[hypothesis.Phase.generate],
                suppress_health_check=list(hypothesis.HealthCheck), verbosity=hypothesis.Verbosity.quiet,
            )  # fmt: skip
            @hypothesis.given(case=strategy)
            def call(case):
                drawn = (dict(case.path_parameters or {}), dict(case.query or {}), case.body)
                for caller in may + others:
                    case.path_parameters, case.query, case.body = drawn
                    self.send(op, caller, case, rng)
                others.clear()

            try:
                call()
            except hypothesis.errors.Unsatisfiable:
                pass  # a request without parameters has no wrong ones
            except hypothesis.errors.HypothesisException:
                raise
            except Exception as e:
                if type(e).__module__.split(".")[0] != "_pytest" and "Skip" not in type(e).__name__:
                    raise

    def run(self):
        began, left = time.monotonic(), 0
        operations = [op for op in self.operations if not op.path.endswith(LEFT_OUT)]
        for i, op in enumerate(operations):
            took = time.monotonic() - began
            if took > 3 * self.plan["seconds"]:
                left += 1
                continue
            # A slow machine sends fewer requests to each operation, and leaves out none.
            late = took > self.plan["seconds"] * (i + 1) / len(operations) + 10
            self.run_one(op, 1 if late else self.plan["tries"])
        print(json.dumps({
            "counts": self.counts, "left": left, "slowest": self.slowest,
            "never": sorted(o for o, n in self.by_operation.items() if not any(200 <= s < 300 for s in n)),
        }), flush=True)  # fmt: skip


Fuzzer(json.load(sys.stdin)).run()
