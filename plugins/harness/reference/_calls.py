"""Checks that the examples name and call what is there, as far as the source alone tells."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List, Optional, Union

from reference._source import Definition, Name, Package

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

# What the names of modules in examples stand for.
MODULES = {
    "api": "determined.common.api",
    "authentication": "determined.common.api.authentication",
    "check": "determined.common.check",
    "client": "determined.experimental.client",
    "core": "determined.core",
    "core_v2": "determined.experimental.core_v2",
    "data": "determined.data",
    "det": "determined",
    "errors": "determined.errors",
    "keras": "determined.keras",
    "pytorch": "determined.pytorch",
    "storage": "determined.common.storage",
    "tensorboard": "determined.tensorboard",
}

# Variables that examples name so, whichever class they are of.
AMBIGUOUS = {"context"}


def mistakes(package: Package, where: Name, code: str) -> Iterator[str]:
    """Yield what is wrong with names of our modules, and of the class itself, in an example."""
    module = where.module
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            method = _method(package, where, node.func)
            if method is not None:
                yield from _mismatch(method, node, skip=0 if _is_static(method) else 1)
        if _is_of(where, node) and isinstance(node, ast.Attribute):
            if not _has_member(package, where, node.attr):
                yield f"{where.name} has no {node.attr}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            place = _place(module, node.value.id)
            if place is not None and not _is_there(package, place, node.attr):
                yield f"{node.value.id}.{node.attr}: {place} has no such name"
        elif isinstance(node, ast.Call):
            name = _called(package, module, node.func)
            function = None if name is None else _function(package, name)
            if name is not None and function is not None:
                yield from _mismatch(function, node, skip=isinstance(name.node, ast.ClassDef))


def _is_of(where: Name, node: ast.AST) -> bool:
    """Return whether an attribute is asked of a variable that is named after the class."""
    if not isinstance(where.node, ast.ClassDef) or not isinstance(node, ast.Attribute):
        return False
    words = re.findall(r"[A-Z][a-z0-9]*", where.node.name)
    names = {"_".join(words).lower(), words[-1].lower() if words else ""} - AMBIGUOUS - set(MODULES)
    return isinstance(node.value, ast.Name) and node.value.id in names


def _classes(package: Package, where: Name) -> Iterator[ast.ClassDef]:
    for place in [where, *package.bases(where)]:
        if isinstance(place.node, ast.ClassDef):
            yield place.node


def _has_member(package: Package, where: Name, name: str) -> bool:
    for node in _classes(package, where):
        for item in ast.walk(node):
            if isinstance(item, ast.FunctionDef) and item.name == name:
                return True
            if isinstance(item, ast.Attribute) and ast.unparse(item) == f"self.{name}":
                return True
        for item in node.body:
            targets: List[ast.expr] = [item.target] if isinstance(item, ast.AnnAssign) else []
            targets += item.targets if isinstance(item, ast.Assign) else []
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return True
    return False


def _method(package: Package, where: Name, func: ast.expr) -> Optional[Function]:
    if not _is_of(where, func) or not isinstance(func, ast.Attribute):
        return None
    for node in _classes(package, where):
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == func.attr:
                return item
    return None


def _is_static(function: Function) -> bool:
    return any(ast.unparse(found) == "staticmethod" for found in function.decorator_list)


def _place(module: str, name: str) -> Optional[str]:
    # The errors of the API's own module are meant by "errors" there.
    if name == "errors" and module.startswith("determined.common.api"):
        return "determined.common.api.errors"
    return MODULES.get(name)


def _is_there(package: Package, place: str, name: str) -> bool:
    here = package.modules[place]
    return (
        f"{place}.{name}" in package.modules
        or name in here.definitions()
        or name in here.listed()
        or name in here.imports()
        or name in here.aliases()
    )


def _called(package: Package, module: str, func: ast.expr) -> Optional[Name]:
    if isinstance(func, ast.Name):
        return package.find(module, func.id)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        place = _place(module, func.value.id)
        return None if place is None else package.find(place, func.attr)
    return None


def _mismatch(function: Function, call: ast.Call, skip: int) -> Iterator[str]:
    """Compare a call with the arguments that a function takes, but for the first ``skip``."""
    arguments = function.args
    positional = [arg.arg for arg in [*arguments.posonlyargs, *arguments.args]][skip:]
    known = {*positional, *(arg.arg for arg in arguments.kwonlyargs)}
    given: List[str] = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
    for word in given:
        if word not in known and arguments.kwarg is None:
            yield f"{ast.unparse(call.func)}() takes no argument {word}"
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return
    if len(call.args) > len(positional) and arguments.vararg is None:
        most = len(positional)
        yield f"{ast.unparse(call.func)}() takes {most} positional arguments, not {len(call.args)}"
    needed = positional[: len(positional) - len(arguments.defaults)][len(call.args) :]
    for word in needed:
        if word not in given and not any(keyword.arg is None for keyword in call.keywords):
            yield f"{ast.unparse(call.func)}() needs the argument {word}"


def _function(package: Package, name: Name) -> Optional[Function]:
    """Return what a call runs: a function, or the __init__ of a class."""
    node: Optional[Definition] = name.node
    if not isinstance(node, ast.ClassDef):
        return node
    for place in [name, *package.bases(name)]:
        assert isinstance(place.node, ast.ClassDef)
        for item in place.node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                return item
    return None
