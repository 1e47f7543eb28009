"""Finds the public names of the package in its source."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
from typing import Dict, Iterator, List, Optional, Tuple, Union

Definition = Union[ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef]

# Made by a Go test from the endpoints, which the master describes at /docs/rest-api.
GENERATED = "determined.common.api.bindings"


@dataclasses.dataclass
class Name:
    """A public name: what it is called in its module, and where it is defined."""

    name: str
    module: str  # where it is defined
    node: Optional[Definition]  # None for a constant and a submodule

    @property
    def key(self) -> Tuple[str, str]:
        """What tells one definition from another."""
        return self.module, self.node.name if self.node else self.name


@dataclasses.dataclass
class Module:
    """A module of the package, as it is in a file."""

    name: str
    is_package: bool
    tree: ast.Module

    @property
    def is_public(self) -> bool:
        """Whether no part of its name begins with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))

    def definitions(self) -> Dict[str, Definition]:
        """Return the module's own classes and functions, also those within an if or a try."""
        found: Dict[str, Definition] = {}
        for node in _statements(self.tree.body):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(node.name, node)
        return found

    def imports(self) -> Dict[str, Tuple[str, str]]:
        """Return the names that come from elsewhere: the module and the name there."""
        found = {}
        for node in _statements(self.tree.body):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module, alias.name)
        return found

    def aliases(self) -> Dict[str, str]:
        """Return the names that are others: ``ExitedReason = EarlyExitReason``."""
        return {
            target.id: node.value.id
            for node in _statements(self.tree.body)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def listed(self) -> List[str]:
        """Return what ``__all__`` lists, or else the module's own public definitions."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
            ):
                return [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
        return [name for name in self.definitions() if not name.startswith("_")]


class Package:
    """All modules of a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.modules: Dict[str, Module] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = list(path.relative_to(folder.parent).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            self.modules[name] = Module(name, is_package, ast.parse(path.read_text("utf-8")))

    def public(self) -> Iterator[Module]:
        """Yield the modules whose names belong to users, packages before what is in them."""
        for name in sorted(self.modules):
            if self.modules[name].is_public and name != GENERATED:
                yield self.modules[name]

    def names(self, module: Module) -> List[Name]:
        """Return a module's public names, in the order in which they are listed."""
        return [self.find(module.name, name) for name in module.listed()]

    def find(self, module: str, name: str) -> Name:
        """Follow a name to where it is defined."""
        seen = []
        where, what = module, name
        while (where, what) not in seen and where in self.modules:
            seen.append((where, what))
            here = self.modules[where]
            if what in here.definitions():
                return Name(name, where, here.definitions()[what])
            if what in here.aliases():
                what = here.aliases()[what]
            elif what in here.imports():
                where, what = here.imports()[what]
        return Name(name, module, None)

    def bases(self, name: Name) -> Iterator[Name]:
        """Yield the classes of the package that a class is derived from, nearest first."""
        if not isinstance(name.node, ast.ClassDef):
            return
        for base in name.node.bases:
            # Generic[T] is of no interest; a dotted base is looked up by its last part's module.
            found = self._base(name.module, base)
            if found is not None and isinstance(found.node, ast.ClassDef):
                yield found
                yield from self.bases(found)

    def _base(self, module: str, base: ast.expr) -> Optional[Name]:
        if isinstance(base, ast.Name):
            return self.find(module, base.id)
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            place = self.modules[module].imports().get(base.value.id)
            if place is not None:
                return self.find(".".join(place), base.attr)
        return None


def methods(node: ast.ClassDef) -> Iterator[Union[ast.FunctionDef, ast.AsyncFunctionDef]]:
    """Yield a class's own public methods and properties; of overloads and setters the first."""
    seen = set()
    for item in _statements(node.body):
        if (
            isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
            and not item.name.startswith("_")
            and item.name not in seen
        ):
            seen.add(item.name)
            yield item


def _statements(body: List[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those within the branches of an if or a try."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements(node.body)
            yield from _statements(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _statements(node.body)
            for handler in node.handlers:
                yield from _statements(handler.body)
        else:
            yield node
