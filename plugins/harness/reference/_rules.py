"""Holds docstrings to their rules: each public name has one, with an example."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Iterator, List, Optional, Set, Tuple

from reference._calls import mistakes
from reference._source import Module, Name, Package, methods

# Example: ``check.eq(1, 1)``
_INLINE = re.compile(r"[Ee]xample:\s+``([^`]+)``")


def doc(node: ast.AST) -> str:
    """Return a docstring without its indentation, or nothing."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return ast.get_docstring(node) or ""
    return ""


def examples(text: str) -> List[str]:
    """Return the code in a docstring: literal blocks, what stands behind ``>>>``, and inline."""
    found = [textwrap.dedent(code) for code in _literal_blocks(text)]
    found += _INLINE.findall(text)
    prompted = [
        line.strip()[4:] for line in text.splitlines() if line.strip().startswith((">>> ", "... "))
    ]
    return [*found, *(["\n".join(prompted)] if prompted else [])]


def _literal_blocks(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.rstrip().endswith("::"):
            block = []
            for below in lines[number + 1 :]:
                if below.strip() and not below.startswith(_indent(line) + " "):
                    break
                block.append(below)
            yield "\n".join(block).strip("\n")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def broken_rules(package: Package) -> Iterator[str]:
    """Yield a sentence for each public name that breaks a rule."""
    seen: Set[Tuple[str, str]] = set()
    for module in package.public():
        if not doc(module.tree):
            yield f"{module.name} has no docstring"
        for name in package.names(module):
            if name.node is not None and name.key not in seen:
                seen.add(name.key)
                yield from _of_name(package, module, name)


def _of_name(package: Package, module: Module, name: Name) -> Iterator[str]:
    assert name.node is not None
    title = f"{module.name}.{name.name} ({name.module})"
    text = doc(name.node)
    if not text:
        yield f"{title} has no docstring"
    shown = examples(text)
    if not shown and not _shown_nearby(package, module, name):
        yield f"{title} has no example"
    yield from _of_examples(package, title, name, shown)
    if isinstance(name.node, ast.ClassDef):
        yield from _of_methods(package, title, name, shown)


def _of_examples(package: Package, title: str, name: Name, shown: List[str]) -> Iterator[str]:
    for code in shown:
        why = _syntax(code)
        if why:
            yield f"{title}: its example is not Python: {why}"
            continue
        for mistake in mistakes(package, name, code):
            yield f"{title}: its example is wrong: {mistake}"


def _of_methods(package: Package, title: str, name: Name, shown: List[str]) -> Iterator[str]:
    """A method is shown by an example of its own, of its class, or of a class above."""
    assert isinstance(name.node, ast.ClassDef)
    above = list(package.bases(name))
    for base in above:
        assert base.node is not None
        shown = [*shown, *examples(doc(base.node))]
    inherited = {
        method.name
        for base in above
        if isinstance(base.node, ast.ClassDef)
        for method in methods(base.node)
    }
    for method in methods(name.node):
        text = doc(method)
        if not text:
            yield f"{title}.{method.name} has no docstring"
        yield from _of_examples(package, f"{title}.{method.name}", name, examples(text))
        # A framework calls the hooks; a program only writes those that it needs.
        if method.name in inherited or method.name.startswith("on_") or examples(text):
            continue
        if not any(re.search(rf"\b{method.name}\b", code) for code in shown):
            yield f"{title}.{method.name} is in no example"


def _shown_nearby(package: Package, module: Module, name: Name) -> bool:
    """Return whether the module's own docstring has an example that uses a name."""
    word = re.compile(rf"\b{name.name}\b")
    trees = [module.tree]
    if name.module in package.modules:
        trees.append(package.modules[name.module].tree)
    return any(word.search(code) for tree in trees for code in examples(doc(tree)))


def _syntax(code: str) -> Optional[str]:
    try:
        ast.parse(code)
    except SyntaxError as err:
        return f"{err.msg}: {(err.text or '').strip()}"
    return None
