"""Saves each process of a test that trains with PyTorch more than a second of processor time: it does not import PyTorch's compiler.

PyTorch's optimizers, and models on several workers, import the compiler (torch._dynamo, with 800 modules) only to tell it what it must leave
alone. A program that compiles nothing gets a module here that has these few functions; whatever else somebody wants of the compiler, the
real one is imported for it. Python imports this file at its start when its folder is in PYTHONPATH.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

NAME = "torch._dynamo"


class Later(types.ModuleType):
    """The module of the compiler until somebody compiles."""

    def disable(self, fn=None, recursive=True, **more):
        if fn is None:
            return real().disable(fn, recursive, **more)
        marked = []

        def call(*args, **kwargs):
            if isinstance(sys.modules[NAME], Later):
                return fn(*args, **kwargs)
            if not marked:
                marked.append(real().disable(fn, recursive, **more))
            return marked[0](*args, **kwargs)

        return call

    def graph_break(self, *args, **kwargs):
        if not isinstance(sys.modules[NAME], Later):
            real().graph_break(*args, **kwargs)

    def __getattr__(self, name):
        if name in PARTS and isinstance(sys.modules.get(NAME), Later):
            return Part(name)
        # The import system asks for __path__ first of a new module, and later when somebody imports a part of the compiler.
        if name.startswith("__") and (name != "__path__" or sys.modules.get(NAME) is not self):
            raise AttributeError(name)
        return getattr(real(), name)


# What models on several workers ask parts of the compiler for, and its answers while nothing is compiled.
PARTS = {
    "utils": {"get_optimize_ddp_mode": lambda: "ddp_optimizer"},
    "trace_rules": {"clear_lru_cache": lambda: None},
}


class Part:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return PARTS[self._name].get(name) or getattr(getattr(real(), self._name), name)


def real():
    """Return the compiler, and import it the first time."""
    if isinstance(sys.modules[NAME], Later):
        del sys.modules[NAME]
    return importlib.import_module(NAME)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the module of the compiler, once."""

    def find_spec(self, name, path, target=None):
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return Later(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
