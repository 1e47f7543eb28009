"""The program of TensorBoard tasks: serves TensorBoard with the files of trials.

It copies the files of ``DET_TENSORBOARD_SOURCES``, follows them while they grow, and serves
TensorBoard on the Unix socket ``DET_TASK_SOCKET`` below ``/proxy/<task id>/``. Until there are
files, a page names the trials for which it waits. Arguments are passed on to TensorBoard.
"""

from __future__ import annotations

import html
import importlib
import importlib.util
import logging
import os
import pathlib
import signal
import sys
import tempfile
import types
from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional

import determined as det
from determined.common import constants
from determined.tensorboard._mirror import Mirror, Source, parse_sources

__all__ = ["main"]

logger = logging.getLogger("determined.tensorboard")

# Interval at which the waiting page reloads.
RELOAD_SECONDS = 5

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{reload}">
<title>TensorBoard: no data yet</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif }}
body {{ max-width: 40rem; margin: 15vh auto; padding: 0 1rem }}
</style></head>
<body><h1>No data yet</h1>
<p>TensorBoard is running. It shows curves as soon as there are any from {names}.</p>
{troubles}<p>This page looks again every {reload} seconds.</p></body></html>
"""

# How many trials the waiting page names.
_NAMED = 5

WSGI = Callable[[Dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def waiting_page(sources: List[Source], troubles: Dict[str, str]) -> bytes:
    """Return the page that names the trials for which it waits."""
    names = [source.name for source in sources]
    shown = ", ".join(names[:_NAMED]) or "nothing: no trials were named"
    if len(names) > _NAMED:
        shown += f" and {len(names) - _NAMED} more"
    lines = [f"<li>{html.escape(f'{name}: {what}')}</li>" for name, what in troubles.items()]
    listed = f"<p>Not readable at the moment:</p><ul>{''.join(lines)}</ul>\n" if lines else ""
    page = _PAGE.format(reload=RELOAD_SECONDS, names=html.escape(shown), troubles=listed)
    return page.encode("utf-8")


class WaitingRoom:
    """Serves the waiting page in place of TensorBoard until there are files."""

    def __init__(self, app: WSGI, mirror: Mirror, sources: List[Source], prefix: str) -> None:
        self._app = app
        self._mirror = mirror
        self._sources = sources
        self._front = (prefix, prefix + "/")

    def __call__(
        self, environ: Dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request."""
        if environ.get("PATH_INFO") not in self._front or self._mirror.files:
            return self._app(environ, start_response)
        page = waiting_page(self._sources, self._mirror.troubles)
        headers = [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(page))),
            ("Cache-Control", "no-store"),
        ]
        start_response("200 OK", headers)
        return [page]


def server_class(
    socket_path: str, prefix: str, around: Callable[[WSGI], WSGI]
) -> Callable[[WSGI, Any], Any]:
    """Return what makes TensorBoard's server: one that listens on a Unix socket."""
    serving = importlib.import_module("werkzeug.serving")
    version = getattr(importlib.import_module("tensorboard.version"), "VERSION", "")

    class Server(serving.ThreadedWSGIServer):  # type: ignore[name-defined,misc]
        """A server on a socket that only this user can open."""

        def __init__(self, wsgi_app: WSGI, flags: Any) -> None:
            del flags
            previous = os.umask(0o177)
            try:
                super().__init__(f"unix://{socket_path}", 0, around(wsgi_app), _Handler)
            finally:
                os.umask(previous)

        def serve_forever(self, poll_interval: float = 0.5) -> None:
            super().serve_forever(poll_interval)

        def get_url(self) -> str:
            # TensorBoard stores the port of its servers; this server has none.
            return "http://localhost:0"

        def print_serving_message(self) -> None:
            # Scripts search logs for the line that TensorBoard itself prints.
            print(f"TensorBoard {version} at {prefix}/ (Press CTRL+C to quit)", flush=True)

    class _Handler(serving.WSGIRequestHandler):  # type: ignore[name-defined,misc]
        """Logs no requests, because TensorBoard's page makes many."""

        def log_request(self, *_: Any) -> None:
            pass

        def address_string(self) -> str:
            # A Unix socket's peer has no address.
            return "proxy"

    return Server


def tensorboard_arguments(logdir: pathlib.Path, prefix: str, more: List[str]) -> List[str]:
    """Return TensorBoard's command line; what the user gives comes last and wins."""
    return [
        "tensorboard",
        f"--path_prefix={prefix}",
        # The other loader is a separate program, which does not work with all plugins.
        "--load_fast=false",
        "--reload_interval=5",
        *more,
        f"--logdir={logdir}",
    ]


def _end(signum: int, _frame: Optional[types.FrameType]) -> NoReturn:
    raise SystemExit(0)


def serve(sources: List[Source], socket_path: str, prefix: str, more: List[str]) -> int:
    """Copy and serve until the task ends."""
    # If TensorFlow is installed, TensorBoard imports it, and TensorFlow logs a lot.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.getLogger("tensorboard").setLevel(logging.WARNING)
    program = importlib.import_module("tensorboard.program")
    container_path = os.environ.get("DET_SHARED_FS_PATH") or constants.SHARED_FS_CONTAINER_PATH
    with tempfile.TemporaryDirectory(prefix="tensorboard-") as folder:
        logdir = pathlib.Path(folder)
        mirror = Mirror(sources, logdir, container_path)
        made = program.TensorBoard(
            server_class=server_class(
                socket_path, prefix, lambda app: WaitingRoom(app, mirror, sources, prefix)
            )
        )
        made.configure(tensorboard_arguments(logdir, prefix, more))
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGINT, _end)
        mirror.start()
        try:
            return int(made.main() or 0)
        finally:
            mirror.close()


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``sys.exit(main(["--samples_per_plugin", "images=10"]))``
    """
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    arguments = sys.argv[1:] if argv is None else argv
    try:
        socket_path = os.environ["DET_TASK_SOCKET"]
        task = os.environ["DET_TASK_ID"]
        sources = parse_sources(os.environ["DET_TENSORBOARD_SOURCES"])
    except KeyError as err:
        print(f"{err.args[0]} is not set: this is a program of TensorBoard tasks", file=sys.stderr)
        return 2
    except ValueError as err:
        print(err, file=sys.stderr)
        return 2
    if importlib.util.find_spec("tensorboard") is None:
        print(
            f"TensorBoard is not installed for {sys.executable}: install the package tensorboard "
            "there, or choose an environment that has it",
            file=sys.stderr,
        )
        return 1
    print(f"TensorBoard shows {', '.join(source.name for source in sources)}", flush=True)
    return serve(sources, socket_path, f"/proxy/{task}", arguments)


if __name__ == "__main__":
    sys.exit(main())
