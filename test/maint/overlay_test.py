"""Patches of two series on one file: their hunks merge, and refresh-patch separates them again.  Where files land."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

MAINT = Path(__file__).resolve().parents[2] / "maint"
sys.path.insert(0, str(MAINT))
import overlay  # noqa: E402
from overlay import Hunk, OverlayError, Rule  # noqa: E402

loader = SourceFileLoader("refresh_patch", str(MAINT / "refresh-patch"))
spec = spec_from_loader("refresh_patch", loader)
assert spec
refresh = module_from_spec(spec)
loader.exec_module(refresh)

PRISTINE = "".join(f"line {number}\n" for number in range(1, 11))
HOOK = [Hunk(2, [], ["hook"]), Hunk(8, ["line 8"], ["hooked 8"])]
FIX = [Hunk(4, ["line 4", "line 5"], ["fixed"]), Hunk(9, [], ["after 9"])]


def hunks_of(lines: list[str]) -> list[Hunk]:
    """Reads the lines of a diff back."""
    found: list[Hunk] = []
    for line in lines[2:]:
        if match := overlay.HUNK.match(line):
            found.append(Hunk(int(match[1])))
        else:
            (found[-1].old if line.startswith("-") else found[-1].new).append(line[1:])
    return found


def test_hunks_of_two_patches_merge_in_the_order_of_lines() -> None:
    merged = overlay.merge_hunks([("hook", HOOK), ("fixes/a", FIX)], "file")
    text = overlay.apply_hunks(PRISTINE, merged, "file").split("\n")
    assert text[2:5] == ["hook", "line 3", "fixed"] and "after 9" in text and "line 5" not in text


@pytest.mark.parametrize("other", [Hunk(5, ["line 5"], ["x"]), Hunk(4, [], ["x"]), Hunk(9, [], ["x"])])
def test_two_patches_cannot_change_the_same_lines(other: Hunk) -> None:
    with pytest.raises(OverlayError, match="changed by"):
        overlay.merge_hunks([("fixes/a", FIX), ("fixes/b", [other])], "file")


def test_a_refreshed_patch_has_pristine_line_numbers_and_nothing_of_the_others() -> None:
    changed = overlay.apply_hunks(PRISTINE, overlay.merge_hunks([("hook", HOOK), ("fixes/a", FIX)], "file"), "file")
    assert hunks_of(refresh.diff("file", PRISTINE, changed, HOOK)) == FIX
    assert hunks_of(refresh.diff("file", PRISTINE, changed, FIX)) == HOOK


def test_a_line_that_another_patch_writes_is_changed_there() -> None:
    changed = overlay.apply_hunks(PRISTINE, HOOK, "file").replace("hooked 8", "hooked otherwise")
    with pytest.raises(OverlayError, match="another patch"):
        refresh.diff("file", PRISTINE, changed, HOOK)


RULES = [Rule("*_test.cpp", overlay.NO_COPY), Rule("src/rm/*", overlay.NO_COPY), Rule("src/a.h", "src/a.h"),
         Rule("src/a.h", "src/pm/a.h"), Rule("src/g.py", "maint/g.py")]  # fmt: skip


@pytest.mark.parametrize("path, targets", [
    ("src/mpi/adapt/new.c", ["src/mpi/adapt/new.c"]),
    ("src/mpi/adapt/new_test.cpp", [overlay.NO_COPY]),
    ("src/rm/core/new.cpp", [overlay.NO_COPY]),
    ("src/rm/core/new_test.cpp", [overlay.NO_COPY]),
    ("src/a.h", ["src/a.h", "src/pm/a.h"]),
    ("src/g.py", ["maint/g.py"]),
])  # fmt: skip
def test_a_file_lands_at_its_own_path_unless_a_line_covers_it(path: str, targets: list[str]) -> None:
    assert overlay.place([path], RULES) == [overlay.Copy(path, target) for target in targets]


@pytest.mark.parametrize("line, message", [
    ("src/a.h", "expected"), ("src/a.h b c", "expected"), ("src/*.h b.h", "no destination"), ("src/a.h ../b.h", "out of the tree"),
])  # fmt: skip
def test_a_wrong_line_is_an_error(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"# comment\n\n{line}\n")
    with pytest.raises(OverlayError, match=f"overlay.list:3: .*{message}"):
        overlay.read_rules(tmp_path / "list")


def test_of_an_unpacked_archive_leftovers_are_no_files_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("src/a.c", "src/a.c~", "src/a.c.orig", "src/.a.c.swp", "src/b/__pycache__/b.pyc", "src/b/b.py", "other.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(overlay, "ROOT", tmp_path)
    assert overlay.repository_files() == ["src/a.c", "src/b/b.py"]
