"""Writes the pages of the reference in Markdown, which docs/python turns into HTML."""

from __future__ import annotations

import ast
import re
from typing import Dict, Iterator, List, Optional, Set, Tuple, Union

from reference._rules import doc
from reference._source import Module, Name, Package, methods

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

WIDTH = 88

# Where names are described that several modules have: the first of these that has them.
FIRST = (
    "determined",
    "determined.core",
    "determined.experimental.client",
    "determined.errors",
    "determined.util",
    "determined.data",
    "determined.pytorch",
    "determined.keras",
    "determined.tensorboard",
    "determined.common.storage",
    "determined.common.api",
)

NOTE = "<!-- made from the docstrings by `./justw made`; do not edit -->"

INTRODUCTION = """\
# The Python package, name by name

Every public name of the package `determined`, with what it takes and an example. [Training code on
a cluster](../../harness.md), [the Python SDK](../../python-sdk.md) and
[the data store](../../data.md) explain how the names work together. The module
`determined.common.api.bindings` has a function for each endpoint of the REST API, which the master
describes under `/docs/rest-api`.
"""


def pages(package: Package) -> Dict[str, str]:
    """Return the pages: what each file contains."""
    return _Writer(package).pages()


class _Writer:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._homes: Dict[Tuple[str, str], str] = {}
        self._modules = sorted(package.public(), key=_rank)
        for module in self._modules:
            for name in package.names(module):
                if name.node is not None:
                    self._homes.setdefault(name.key, module.name)

    def pages(self) -> Dict[str, str]:
        """Return a page for each module that has something to itself, and their list."""
        shown = [module for module in self._modules if self._own(module) or not module.is_package]
        shown = [module for module in shown if self._own(module) or not self._package.names(module)]
        found = {f"{module.name}.md": self._page(module) for module in shown}
        listed = [
            f"- [`{module.name}`]({module.name}.md): {_first_sentence(doc(module.tree))}"
            for module in sorted(shown, key=lambda module: module.name)
        ]
        found["README.md"] = "\n".join([NOTE, "", INTRODUCTION, *listed]) + "\n"
        return found

    def _own(self, module: Module) -> List[Name]:
        """Return the names that are described on a module's page, each once."""
        seen: Set[Tuple[str, str]] = set()
        own = []
        for name in self._package.names(module):
            if name.node is not None and self._homes[name.key] == module.name:
                if name.key not in seen:
                    own.append(name)
                seen.add(name.key)
        return own

    def _page(self, module: Module) -> str:
        own = self._own(module)
        lines = [NOTE, "", f"# `{module.name}`", "", markdown(doc(module.tree)), ""]
        if len(own) > 1:
            lines += [", ".join(f"[`{name.name}`](#{_anchor(_title(name))})" for name in own), ""]
        for name in own:
            lines += self._entry(name)
        lines += self._elsewhere(module)
        return "\n".join(lines).rstrip("\n") + "\n"

    def _elsewhere(self, module: Module) -> Iterator[str]:
        """List the names of a module that other pages describe, and its other names."""
        links = []
        for name in self._package.names(module):
            if name.node is None:
                continue
            home = self._homes[name.key]
            first = next(
                other
                for other in self._package.names(self._package.modules[home])
                if other.key == name.key
            )
            if home != module.name or first.name != name.name:
                links.append(
                    f"- `{name.name}`: [`{home}.{first.name}`]({home}.md#{_anchor(_title(first))})"
                )
        if links:
            yield "## Names described elsewhere"
            yield ""
            yield from links

    def _entry(self, name: Name) -> Iterator[str]:
        node = name.node
        assert node is not None
        yield f"## {_title(name)}"
        yield ""
        if isinstance(node, ast.ClassDef):
            yield from _code(self._class_signature(name, node))
        else:
            yield from _code(signature(name.name, node, is_method=False))
        yield markdown(doc(node))
        yield ""
        if isinstance(node, ast.ClassDef):
            yield from self._members(name, node)

    def _class_signature(self, name: Name, node: ast.ClassDef) -> str:
        if _is_enum(node):
            members = [
                target.id
                for item in node.body
                if isinstance(item, ast.Assign)
                for target in item.targets
                if isinstance(target, ast.Name) and not target.id.startswith("_")
            ]
            return "\n".join(f"{name.name}.{member}" for member in members)
        for place in [name, *self._package.bases(name)]:
            assert isinstance(place.node, ast.ClassDef)
            for item in place.node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    return signature(name.name, item, is_method=True, returns=False)
        fields = [
            ast.unparse(item)
            for item in node.body
            if isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
            and not item.target.id.startswith("_")
        ]
        return _wrapped(name.name, fields, "")

    def _members(self, name: Name, node: ast.ClassDef) -> Iterator[str]:
        for method in methods(node):
            yield f"### `{name.name}.{method.name}`"
            yield ""
            if _has(method, "property"):
                returns = f": {ast.unparse(method.returns)}" if method.returns else ""
                yield from _code(f"{method.name}{returns}")
            else:
                static = _has(method, "staticmethod")
                yield from _code(signature(method.name, method, is_method=not static))
            yield markdown(doc(method))
            yield ""
        own = {method.name for method in methods(node)}
        for base in self._package.bases(name):
            assert isinstance(base.node, ast.ClassDef)
            more = [method.name for method in methods(base.node) if method.name not in own]
            own.update(more)
            home = self._homes.get(base.key)
            if more:
                of = f"[`{base.name}`]({home}.md#{_anchor(_title(base))})" if home else "its base"
                yield f"From {of}: {', '.join(f'`{name}`' for name in more)}."
                yield ""


def _rank(module: Module) -> Tuple[int, str]:
    return (FIRST.index(module.name) if module.name in FIRST else len(FIRST), module.name)


def _title(name: Name) -> str:
    return f"class `{name.name}`" if isinstance(name.node, ast.ClassDef) else f"`{name.name}`"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def _is_enum(node: ast.ClassDef) -> bool:
    return any("Enum" in ast.unparse(base) for base in node.bases)


def _has(method: Function, decorator: str) -> bool:
    return any(ast.unparse(found).endswith(decorator) for found in method.decorator_list)


def _code(text: str) -> List[str]:
    return ["```python", text, "```", ""]


def signature(name: str, node: Function, is_method: bool, returns: bool = True) -> str:
    """Write how a function is called, a line for each argument where one line is too short."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: List[Optional[ast.expr]] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    words = [_argument(arg, default) for arg, default in zip(positional, defaults)]
    if arguments.posonlyargs:
        words.insert(len(arguments.posonlyargs), "/")
    if is_method:
        words = words[1:]
    if arguments.vararg:
        words.append("*" + _argument(arguments.vararg, None))
    elif arguments.kwonlyargs:
        words.append("*")
    words += [
        _argument(arg, default) for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    # What begins with an underscore is for the package itself.
    words = [word for word in words if not word.startswith("_")]
    if arguments.kwarg:
        words.append("**" + _argument(arguments.kwarg, None))
    arrow = f" -> {ast.unparse(node.returns)}" if returns and node.returns else ""
    return _wrapped(name, words, arrow)


def _wrapped(name: str, words: List[str], arrow: str) -> str:
    line = f"{name}({', '.join(words)}){arrow}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){arrow}"


def _argument(arg: ast.arg, default: Optional[ast.expr]) -> str:
    text = arg.arg
    if arg.annotation is not None:
        text += f": {ast.unparse(arg.annotation)}"
    if default is not None:
        text += (" = " if arg.annotation is not None else "=") + ast.unparse(default)
    return text


def _first_sentence(text: str) -> str:
    first = markdown(text).split("\n\n", maxsplit=1)[0].replace("\n", " ")
    return first.rstrip(":")


def markdown(text: str) -> str:
    """Turn a docstring into Markdown: code within a line, and blocks of code."""
    out: List[str] = []
    block: List[str] = []
    for line in [*text.splitlines(), "end"]:
        # Lines indented by four or more are code; lists go on after two.
        if line.startswith("    ") or (block and not line.strip()):
            block.append(line)
            continue
        if block:
            out += _fenced(block)
            block = []
        out.append(re.sub(r"::$", ":", line))
    joined = "\n".join(out[:-1]).rstrip("\n")
    parts = joined.split("```")
    return "```".join(
        part if index % 2 and part.startswith("python") else part.replace("``", "`")
        for index, part in enumerate(parts)
    )


def _fenced(block: List[str]) -> List[str]:
    while block and not block[-1].strip():
        block.pop()
    indent = min(len(line) - len(line.lstrip()) for line in block if line.strip())
    return ["```python", *(line[indent:] for line in block), "```", ""]
