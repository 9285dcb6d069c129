"""The types of our Python: mypy, as mypy.ini sets it up, with its cache in the folder of the build."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import overlay

CACHE = Path(os.environ.get("ELASTIC_BUILD") or overlay.ROOT / "build") / ".mypy_cache"


def ambiguous(names: list[str]) -> list[str]:
    """Files whose module has the name of another one: all conftest.py but one, and a program that is named as a folder of Python."""
    taken = {folder.name for name in names for folder in Path(name).parents}
    found: list[str] = []
    for name in names:
        is_in_package = (overlay.ROOT / name).with_name("__init__.py").exists()
        module = str(Path(name).with_suffix("")) if is_in_package else Path(name).stem
        if module in taken:
            found.append(name)
        taken.add(module)
    return found


def errors(names: list[str]) -> Iterator[str]:
    """What mypy reports on these files, in one run."""
    if not find_spec("mypy"):
        yield "mypy is missing (apt-get install mypy)"
        return
    with tempfile.TemporaryDirectory(prefix="types-") as folder:
        # mypy names the module of a program as its file: a link gives an ambiguous one another name.
        links = {name: Path(folder) / name.removesuffix(".py").replace("/", "-") for name in ambiguous(names)}
        for name, link in links.items():
            link.symlink_to(overlay.ROOT / name)
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(CACHE), "--no-error-summary", "--scripts-are-modules"]
        command += [str(links.get(name, name)) for name in names]
        done = subprocess.run(command, cwd=overlay.ROOT, capture_output=True, text=True, check=False)
        report = done.stdout + done.stderr
        for name, link in links.items():
            report = report.replace(str(link), name)
    yield from report.splitlines()
    if done.returncode and not report:
        yield f"mypy ended with {done.returncode}"
