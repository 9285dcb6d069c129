"""The list of maint/mutate: each mutation changes one line of today's sources, and the tests that it names exist."""

from __future__ import annotations

import re
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
from harness import testlist

ROOT = Path(__file__).resolve().parents[2]
loader = SourceFileLoader("mutate", str(ROOT / "maint" / "mutate"))
spec = spec_from_loader("mutate", loader)
assert spec
mutate = sys.modules["mutate"] = module_from_spec(spec)
loader.exec_module(mutate)
MUTATIONS = mutate.read_list(mutate.LIST)


def suites() -> set[str]:
    """Of GoogleTest, with and without parameters."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*_test.cpp")]
    return {name for text in texts for name in re.findall(r"^TEST(?:_[FP])?\((\w+),", text, re.M)}


def test_there_are_thirty() -> None:
    assert len(MUTATIONS) == 30


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_one_line_changes(mutation: Any) -> None:
    source = (ROOT / mutation.file).read_text(encoding="utf-8")
    lines = zip(source.splitlines(), mutation.changed(source).splitlines(), strict=True)
    assert sum(before != after for before, after in lines) == 1


def test_the_named_tests_exist() -> None:
    listed = {test.name for test in testlist.read(ROOT / "test" / "elastic" / "testlist", 0)}
    known = suites()
    missing = [name for mutation in MUTATIONS for name in mutation.conformance if name not in listed]
    missing += [suite for mutation in MUTATIONS for suite in mutation.unit if suite not in known]
    for test in (test for mutation in MUTATIONS for test in mutation.pytest):
        path, _, name = test.partition("::")
        function = re.sub(r"^test_elasticd\[(\w+)\]$", r"\1", name)
        found = any(f"def {function}(" in file.read_text(encoding="utf-8") for file in (ROOT / path).parent.glob("*.py"))
        missing += [] if found else [test]
    assert missing == []


@pytest.mark.parametrize("entry", ["text = 'a'\nmutant = 'a'", "text = 'a'\nmutant = 'b'", "text = 'a'\nline = 3\nmutant = 'b'"])
def test_a_wrong_entry_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "list.toml"
    path.write_text(f"[x]\nfile = 'run'\n{entry}\n" + ("pytest = ['t']\n" if "line" in entry else ""), encoding="utf-8")
    with pytest.raises(mutate.MutateError):
        mutate.read_list(path)


def test_text_that_occurs_twice_is_refused() -> None:
    mutation = mutate.Mutation("x", "file", "a", "b", pytest=("t",))
    with pytest.raises(mutate.MutateError):
        mutation.changed("a line\nand another\n")
