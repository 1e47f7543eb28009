"""Prints the public names of a folder with the package determined, a line each: module, name.

It reads the sources and imports nothing, so it works without the frameworks that the package is for:

    python3 names.py FOLDER-WITH-determined

A name counts where people import it from: a module whose path has no part with an underscore in front, and the
methods and attributes of classes with those that they inherit from classes of the package itself.
"""

import ast
import pathlib
import sys
from typing import Dict, Iterator, List, Optional, Set, Tuple

Scope = Dict[str, Tuple[str, str]]  # name -> module and name that it was imported from


class Module:
    def __init__(self, name: str, path: pathlib.Path, package: bool) -> None:
        self.name = name
        self.package = package
        self.classes: Dict[str, ast.ClassDef] = {}
        self.names: Set[str] = set()
        self.imports: Scope = {}
        self.modules: Dict[str, str] = {}
        self.aliases: Dict[str, ast.expr] = {}  # X = module.Y
        self.listed: Optional[Set[str]] = None
        for node in flat(ast.parse(path.read_text()).body):
            self.read(node)

    def read(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            self.classes[node.name] = node
            self.names.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            made = node.value.func if isinstance(node.value, ast.Call) else None
            if isinstance(made, (ast.Name, ast.Attribute)) and ast.unparse(made) in ("typing.TypeVar", "TypeVar", "logging.getLogger"):
                return  # a module's own helpers, regardless of their names
            for name in targets(node):
                self.names.add(name)
                if isinstance(node.value, (ast.Name, ast.Attribute)):
                    self.aliases[name] = node.value
                if name == "__all__" and isinstance(node.value, (ast.List, ast.Tuple)):
                    self.listed = {e.value for e in node.value.elts if isinstance(e, ast.Constant)}
        elif isinstance(node, ast.ImportFrom):
            source = self.source(node)
            for alias in node.names:
                self.imports[alias.asname or alias.name] = (source, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                self.modules[alias.asname or alias.name] = alias.name

    def source(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + (1 if self.package else 0)]
        return ".".join(base + ([node.module] if node.module else []))


def flat(body: List[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, with those inside of if and try."""
    for node in body:
        if isinstance(node, ast.If) and "__name__" in {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}:
            continue  # what only the program does
        elif isinstance(node, ast.If):
            yield from flat(node.body + node.orelse)
        elif isinstance(node, ast.Try):
            yield from flat(node.body + [s for h in node.handlers for s in h.body] + node.orelse)
        else:
            yield node


def targets(node: ast.stmt) -> Iterator[str]:
    found = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    for target in found:
        for name in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(name, ast.Name):
                yield name.id


def public(name: str) -> bool:
    return not name.startswith("_")


def members(body: List[ast.stmt]) -> Iterator[str]:
    for node in flat(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
            if node.name == "__init__":
                for part in ast.walk(node):
                    if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                        if isinstance(part.value, ast.Name) and part.value.id == "self":
                            yield part.attr
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            yield from targets(node)


class Package:
    def __init__(self, folder: pathlib.Path) -> None:
        self.modules: Dict[str, Module] = {}
        for path in sorted((folder / "determined").rglob("*.py")):
            parts = list(path.relative_to(folder).with_suffix("").parts)
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            self.modules[name] = Module(name, path, package)

    def find(self, module: str, name: str, seen: Tuple[Tuple[str, str], ...] = ()) -> Optional[Tuple[Module, str]]:
        """Where a name that a module has is defined in this package."""
        m = self.modules.get(module)
        if m is None or (module, name) in seen:
            return None
        if name in m.names:
            return m, name
        if name in m.imports:
            return self.find(*m.imports[name], seen=seen + ((module, name),))
        return None

    def named(self, module: Module, node: ast.expr) -> Optional[Tuple[Module, str]]:
        """Where the class is defined that an expression of a module names."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            return self.find(module.name, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = node.value.id
            return self.find(module.modules.get(owner) or ".".join(module.imports.get(owner, ("", ""))), node.attr)
        return None

    def of_class(self, module: Module, name: str, depth: int = 0) -> Set[str]:
        if depth > 10:
            return set()
        found: Set[str] = set()
        bases: List[ast.expr] = []
        if name in module.classes:
            node = module.classes[name]
            found, bases = {n for n in members(node.body) if public(n)}, node.bases
        elif name in module.aliases:
            bases = [module.aliases[name]]
        for base in bases:
            home = self.named(module, base)
            if home is not None:
                found |= self.of_class(*home, depth + 1)
        return found

    def public(self) -> Iterator[Tuple[str, str]]:
        for name, m in self.modules.items():
            # The functions and messages of the bindings follow the routes, one by one.
            if not all(public(part) for part in name.split(".")) or name == "determined.common.api.bindings":
                continue
            yield name, ""
            for own in sorted(m.names | set(m.imports)):
                home = self.find(name, own)
                if not public(own) or home is None:
                    continue  # private, or of another package
                # What a module has imported for itself is no name of its own, unless it is a package's front.
                if own in m.imports and not m.package and own not in (m.listed or set()):
                    continue
                yield name, own
                for member in sorted(self.of_class(*home)):
                    yield name, own + "." + member


if __name__ == "__main__":
    for module, name in Package(pathlib.Path(sys.argv[1])).public():
        print(module + "\t" + name)
