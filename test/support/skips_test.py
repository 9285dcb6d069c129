"""The list of expected skips: valid and invalid lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.folders import ROOT
from support.skips import ExpectedSkips, SkipListError


def test_a_skip_is_allowed_for_its_reason_alone(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("# comment\n\ntest/a.py::test_[[]x-* | always | no .* here\ntest/b.py::* | not-root | .\n", encoding="utf-8")
    skips = ExpectedSkips.read(path)
    assert skips.allow("test/a.py::test_[x-1]", "no file here")
    assert not skips.allow("test/a.py::test_[x-1]", "another reason")
    assert not skips.allow("test/a.py::test_[y-1]", "no file here")


@pytest.mark.parametrize("line", ["a | b", "a | sometimes | c", "a"])
def test_a_line_that_cannot_be_understood_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(SkipListError):
        ExpectedSkips.read(path)


def test_a_line_without_effect_is_found(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("a::* | always | x\nb::* | always | x\nc::* | always | x\n", encoding="utf-8")
    skips = ExpectedSkips.read(path)
    found = skips.without_effect({"a::1": None, "a::2": None, "b::1": "x", "b::2": None})
    assert [line.tests for line in found] == ["a::*"]


def test_each_line_names_files_that_exist() -> None:
    for line in ExpectedSkips.read(ROOT / "test" / "expected-skips").lines:
        assert list(ROOT.glob(line.tests.partition("::")[0])), line
