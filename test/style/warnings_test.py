"""Our C files that are compiled in the MPICH tree have no warning of -Wall and -Wextra.

MPICH's headers have many, so that -Werror cannot be among its flags.  All our other files are compiled with it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.folders import BUILD, ROOT

sys.path.insert(0, str(ROOT / "maint"))
import overlay  # noqa: E402

TREE = BUILD.resolve() / "mpich"
# Functions that are called back keep the parameters that they do not need.
FLAGS = ("-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter")
MESSAGE = re.compile(r"(\S+?):\d+(:\d+)?: (warning|(fatal )?error): ")


def ours(output: str, folder: Path, names: set[str]) -> list[str]:
    """The messages about our files, or about any file if it is an error."""
    found = []
    for line in output.splitlines():
        if message := MESSAGE.match(line):
            name = os.path.relpath(os.path.normpath(folder / message[1]), TREE)
            found += [line] if name in names or "error" in message[3] else []
    return found


@pytest.fixture(scope="module")
def names() -> set[str]:
    return {copy.destination for copy in overlay.read_overlay()}


def check(folder: Path, command: list[str], names: set[str]) -> list[str]:
    done = subprocess.run([*command, *FLAGS], cwd=folder, capture_output=True, text=True, check=False)
    found = ours(done.stderr, folder, names)
    return found or ([f"{' '.join(command)}: exit code {done.returncode}"] if done.returncode != 0 else [])


def test_no_file_has_a_warning(tmp_path: Path, names: set[str]) -> None:
    listed = tmp_path / "commands.json"
    maker = [str(ROOT / "maint" / "compile-commands"), "--build-dir", str(BUILD), str(listed)]
    subprocess.run(maker, check=True, capture_output=True)
    commands = [(Path(one["directory"]), one["arguments"]) for one in json.loads(listed.read_text(encoding="utf-8"))]
    in_tree = [(folder, words) for folder, words in commands if TREE in (folder, *folder.parents)]
    assert len(in_tree) > 150, f"{TREE} is not configured: ./run build first"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = sorted({line for lines in pool.map(lambda one: check(one[0], one[1], names), in_tree) for line in lines})
    assert not found, "\n".join(found)


def test_a_warning_is_found(tmp_path: Path, names: set[str]) -> None:
    """In a file of ours, in a header of ours that it includes, and a file that cannot be compiled."""
    name = next(name for name in sorted(names) if name.startswith("src/mpid/ch4/src/") and name.endswith(".h"))
    texts: tuple[tuple[str, list[str]], ...] = (
        ("int f(unsigned n) { return n < -1; }", [f"{name}:1:"]),
        (f'# 7 "{TREE}/{name}"\nstatic int f(void) {{ }}', [f"{TREE}/{name}:7:"]),
        ('# 7 "of_mpich.h"\nint f(unsigned n) { return n < -1; }', []),
        ("int f(void) { return g(); } }", [f"{name}:1:"]),
    )
    for text, wanted in texts:
        done = subprocess.run(["gcc", *FLAGS, "-xc", "-"], input=text, capture_output=True, text=True, check=False)
        output = done.stderr.replace("<stdin>", name)
        found = ours(output, TREE, names)
        assert all(any(line.startswith(start) for line in found) for start in wanted), f"{text}: {output}"
        assert bool(found) == bool(wanted), f"{text}: {found}"
