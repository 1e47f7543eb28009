"""Generates the bindings of the REST API, which a checkout does not have, for an installation."""

import pathlib
import subprocess

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
BINDINGS = HERE / "determined" / "common" / "api" / "bindings.py"


def make_bindings() -> None:
    """Generate the bindings from the master's table of endpoints, which takes Go."""
    if BINDINGS.exists():
        return
    try:
        subprocess.run(["go", "run", "./master/v1/generate"], cwd=HERE.parent.parent, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        advice = "Install Go, or use the wheel of a release."
        raise SystemExit(f"cannot generate {BINDINGS.name}: {error}. {advice}") from None


make_bindings()
setup()
