"""The rules of maint/check-style and maint/check-patches, one test for each."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = ("check-style", "check-patches")
results: dict[str, tuple[int, str]] = {}


def rules(name: str) -> list[str]:
    """The titles of a program's rules: the docstrings of the functions in its list RULES."""
    text = (ROOT / "maint" / name).read_text(encoding="utf-8")
    listed = re.search(r"^RULES[^=]*= \[(.*?)\]", text, re.M | re.S)
    assert listed, f"maint/{name} has no list RULES"
    found = []
    for function in re.findall(r"\w+", listed[1]):
        title = re.search(rf'^def {function}\(.*?"""(.*?)"""', text, re.M | re.S)
        assert title, f"maint/{name}: {function} has no title"
        found.append(" ".join(title[1].split()))
    return found


def output(name: str) -> tuple[int, str]:
    if name not in results:
        done = subprocess.run([str(ROOT / "maint" / name)], capture_output=True, text=True, check=False)
        results[name] = done.returncode, done.stdout + done.stderr
    return results[name]


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.xdist_group("style")
def test_program_ends_in_order(name: str) -> None:
    code, text = output(name)
    assert re.search(r"^\d+ passed, \d+ failed", text, re.M), f"maint/{name} ended with {code}:\n{text[-3000:]}"


@pytest.mark.parametrize("name, title", [(name, title) for name in CHECKS for title in rules(name)])
@pytest.mark.xdist_group("style")
def test_rule(name: str, title: str) -> None:
    _, text = output(name)
    part = re.search(rf"^(not )?ok \d+ - \w+: {re.escape(title)}( # SKIP .*)?$((?:\n#.*)*)", text, re.M)
    assert part, f"maint/{name} reports nothing about this rule:\n{text[-3000:]}"
    if part[2]:
        pytest.skip(part[2].removeprefix(" # SKIP "))
    if part[1]:
        pytest.fail(part[3], pytrace=False)
