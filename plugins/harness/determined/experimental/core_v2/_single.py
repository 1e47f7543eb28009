"""``init`` and ``close``: one Core context for the whole program, in the package's own names."""

from __future__ import annotations

import atexit
import sys
import types
from typing import Any, Callable, Optional, Type

from determined import core
from determined.experimental import core_v2
from determined.experimental.core_v2._context import init_context

_NAMES = ("train", "checkpoint", "distributed", "preempt", "searcher", "info")


class _Single:
    """The context of the program, and the error or exit code with which the program ends."""

    def __init__(self) -> None:
        self.context: Optional[core.Context] = None
        self._registered = False
        self._ended_with: Optional[BaseException] = None
        self._hooks: Optional[tuple[Callable[..., Any], Callable[..., Any]]] = None

    def begin(self, context: core.Context) -> None:
        """Start a context in place of the previous one."""
        context.start()
        self.context = context
        for name in _NAMES:
            setattr(core_v2, name, getattr(context, name))
        self._watch_the_end()
        if not self._registered:
            atexit.register(self.end)
            self._registered = True

    def end(self) -> None:
        """Close the context, if there is one, with the error that ends the program."""
        context, self.context = self.context, None
        if context is None:
            return
        if self._hooks is not None:
            sys.exit, sys.excepthook = self._hooks
            self._hooks = None
        for name in _NAMES:
            setattr(core_v2, name, None)
        error, self._ended_with = self._ended_with, None
        kind: Optional[Type[BaseException]] = type(error) if error is not None else None
        context.close(kind, error, None)

    def _watch_the_end(self) -> None:
        """Record the error or code with which the program ends; atexit functions do not get it."""
        exit_before, hook_before = sys.exit, sys.excepthook
        self._hooks = (exit_before, hook_before)

        def leave(status: Any = None, /) -> None:
            self._ended_with = SystemExit(status)
            exit_before(status)

        def fail(
            kind: Type[BaseException],
            error: BaseException,
            trace: Optional[types.TracebackType],
        ) -> None:
            self._ended_with = error
            hook_before(kind, error, trace)

        sys.exit = leave  # type: ignore[assignment]
        sys.excepthook = fail


_single = _Single()


def init(**options: Any) -> None:
    """Begin to report; the options are those of ``init_context``.

    ``core_v2.train``, ``core_v2.checkpoint`` and the others work from then on. A second ``init``
    closes what the first one began; so does the end of the program.

    Example: ``core_v2.init(config=core_v2.Config(name="laptop"))``
    """
    _single.end()
    _single.begin(init_context(**options))


def close() -> None:
    """Send the remaining reports, and report how the run ended.

    Example: ``core_v2.close()``
    """
    _single.end()


def url_reverse_webui_exp_view() -> str:
    """Return the address of the experiment's page in the browser.

    Example: ``print(core_v2.url_reverse_webui_exp_view())``
    """
    if core_v2.info is None:
        raise RuntimeError("call core_v2.init first")
    master, trial = core_v2.info.master_url, core_v2.info.trial
    return f"{master}/det/experiments/{trial.experiment_id}"
