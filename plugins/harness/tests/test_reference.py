"""The reference: docstrings keep to the rules, pages are up to date, and examples run."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import pathlib
import textwrap

import pytest

from reference.__main__ import HARNESS, stale
from reference._pages import markdown, pages, signature
from reference._rules import broken_rules, examples
from reference._source import Module, Package


@pytest.fixture(scope="module")
def package() -> Package:
    return Package(HARNESS / "determined")


def test_every_public_name_has_a_docstring_with_an_example(package: Package) -> None:
    assert list(broken_rules(package)) == []


def test_only_pages_that_changed_are_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "same.md").write_text("a")
    (tmp_path / "changed.md").write_text("b")
    (tmp_path / "gone.md").write_text("c")
    made = {"same.md": "a", "changed.md": "B", "new.md": "d"}
    assert list(stale(made, tmp_path)) == ["changed.md", "gone.md", "new.md"]


def test_a_page_has_what_its_module_lists(package: Package) -> None:
    page = pages(package)["determined.core.md"]
    assert "## class `TrainContext`" in page and "### `TrainContext.report_metrics`" in page
    assert "report_progress(progress: float) -> None" in page
    assert "- `ExitedReason`: [`determined.core.EarlyExitReason`]" in page
    assert "EarlyExitReason.INVALID_HP" in page and "_session" not in page
    assert "determined.common.api.bindings.md" not in pages(package)


def toy(tmp_path: pathlib.Path, **files: str) -> Package:
    folder = tmp_path / "determined"
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return Package(folder)


def test_the_rules_find_what_is_missing(tmp_path: pathlib.Path) -> None:
    found = toy(
        tmp_path,
        __init__='"""The package."""\nfrom determined._a import A, b, C\n__all__ = ["A", "C", "b"]',
        _a='''
        class A:
            """Something. Example: ``A().shown(1)``"""

            def shown(self, x):
                """Do."""

            def hidden(self):
                """Do."""

            def on_end(self):
                """Called at the end."""

        class C(A):
            """More.

            Example::

                c = C(
            """

            def shown(self, x): ...

        def b():
            """Do something without an example."""
        ''',
    )
    assert sorted(broken_rules(found)) == [
        "determined.A (determined._a).hidden is in no example",
        "determined.C (determined._a).shown has no docstring",
        "determined.C (determined._a): its example is not Python: '(' was never closed: c = C(",
        "determined.b (determined._a) has no example",
    ]


@pytest.mark.parametrize(
    ("code", "mistake"),
    [
        ("core.gone()", "core.gone: determined.core has no such name"),
        ("core.made()", "core.made() needs the argument a"),
        ("core.made(1, 2)", "core.made() takes 1 positional arguments, not 2"),
        ("core.made(1, c=2)", "core.made() takes no argument c"),
        ("core.Trial(1)", "core.Trial() takes 0 positional arguments, not 1"),
        ("trial.gone()", "Trial has no gone"),
        ("trial.kill(1)", "trial.kill() takes 0 positional arguments, not 1"),
        ("core.made(1, b=2), core.made(a=1), core.Trial().kill(), trial.id, trial.kill()", None),
    ],
)
def test_the_rules_find_calls_of_what_is_not_there(
    tmp_path: pathlib.Path, code: str, mistake: str
) -> None:
    found = toy(
        tmp_path,
        __init__='"""The package."""',
        core=f'''
        """The core. Example: ``made(1)``"""
        def made(a, *, b=1): "Make."
        class Trial:
            """A trial.

            Example: ``trial.kill(); {code}``
            """
            def __init__(self): self.id = 1
            def kill(self): "Kill it."
        ''',
    )
    broken = list(broken_rules(found))
    wanted = f"determined.core.Trial (determined.core): its example is wrong: {mistake}"
    assert broken == ([] if mistake is None else [wanted])


def test_markdown_of_docstrings() -> None:
    text = "Take ``a``::\n\n    x = ``1``\n\nand\n\n- this,\n  or that\n\n"
    text += "Example:\n\n    >>> f()\n    1\n"
    assert markdown(text) == (
        "Take `a`:\n\n```python\nx = ``1``\n```\n\nand\n\n- this,\n  or that\n\nExample:\n\n"
        "```python\n>>> f()\n1\n```"
    )
    assert examples(text) == ["x = ``1``", "f()"]


def test_signatures() -> None:
    text = "def f(self, a, /, b: int = 1, *args: str, c, d: float = 2.0, _e=1, **more): ..."
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    assert signature("f", node, is_method=True) == (
        "f(a, /, b: int = 1, *args: str, c, d: float = 2.0, **more)"
    )


def all_modules() -> list[Module]:
    return [
        module
        for name, module in Package(HARNESS / "determined").modules.items()
        if ">>> " in ast.unparse(module.tree) or ">>>" in (ast.get_docstring(module.tree) or "")
    ]


@pytest.mark.parametrize("module", all_modules(), ids=lambda module: module.name)
def test_examples_run(module: Module) -> None:
    try:
        loaded = importlib.import_module(module.name)
    except ImportError as err:
        if (err.name or "determined").startswith("determined"):
            raise
        pytest.skip(f"{err.name} is not installed")
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        done = doctest.testmod(loaded, optionflags=doctest.ELLIPSIS)
    assert done.attempted > 0 and done.failed == 0, report.getvalue()
