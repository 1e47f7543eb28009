"""Imports code from a folder, such as a checkpoint's, without changing the import path."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Iterator, Set, Union

_importing = threading.Lock()


def _modules_in(folder: str) -> Set[str]:
    """Return the names of the modules that were imported from a folder, and their submodules.

    Modules of this package are left out: if it were imported twice, each copy would have its own
    classes.
    """
    root = os.path.realpath(folder)
    tops = {
        name
        for name, module in list(sys.modules.items())
        if "." not in name and name != "determined" and _lies_in(module, root)
    }
    return {name for name in list(sys.modules) if name.partition(".")[0] in tops}


def _lies_in(module: object, root: str) -> bool:
    # A package has a folder, and without an __init__.py it has no file.
    places = list(getattr(module, "__path__", None) or ())
    if not places and getattr(module, "__file__", None):
        places = [getattr(module, "__file__", "")]
    return any(os.path.dirname(os.path.realpath(place)) == root for place in places)


@contextlib.contextmanager
def import_from_path(path: Union[str, os.PathLike[str]]) -> Iterator[None]:
    """Let imports find the modules of a folder first for as long as the block runs.

    Modules of the working directory are hidden meanwhile, so one process can import the
    ``model_def`` of a checkpoint and the one of the working directory, under different names.
    Blocks cannot be nested.

    Example::

        path = client.get_checkpoint(uuid).download()
        with det.import_from_path(path + "/code"):
            import model_def
        trial = model_def.Digits
    """
    if not _importing.acquire(blocking=False):
        raise RuntimeError("import_from_path cannot be nested, nor used by two threads at once")
    folder = os.path.abspath(os.fspath(path))
    old_path, old_bytecode = list(sys.path), sys.dont_write_bytecode
    before = dict(sys.modules)
    try:
        here = os.getcwd()
        if "" in sys.path or here in sys.path:
            for name in _modules_in(here):
                del sys.modules[name]
        sys.path[:] = [folder, *(entry for entry in old_path if entry not in ("", here))]
        # The folder may be part of checkpoint storage, so Python must not write bytecode to it.
        sys.dont_write_bytecode = True
        yield
    finally:
        sys.dont_write_bytecode = old_bytecode
        sys.path[:] = old_path
        for name in _modules_in(folder):
            del sys.modules[name]
        for name, module in before.items():
            sys.modules.setdefault(name, module)
        _importing.release()
