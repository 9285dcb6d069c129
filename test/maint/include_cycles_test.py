"""maint/include_cycles.py: which files include each other."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "maint"))
import include_cycles  # noqa: E402


def tree(**includes: str) -> Mapping[str, str]:
    """Files below src/: `a_c="b.h"` is a.c, which includes b.h."""
    return {
        f"src/{name.replace('_', '.')}": "".join(f'#include "{header}"\n' for header in headers.split())
        for name, headers in includes.items()
    }


def test_no_cycle() -> None:
    assert include_cycles.cycles(tree(a_c="a.h b.h", a_h="b.h", b_h="", b_c="b.h")) == []


def test_a_source_closes_a_cycle_of_its_header() -> None:
    assert include_cycles.cycles(tree(a_c="a.h b.h", a_h="", b_h="", b_c="a.h b.h")) == [["src/a", "src/b"]]


def test_cycles_that_do_not_meet_are_apart() -> None:
    found = include_cycles.cycles(tree(a_h="b.h", b_h="a.h c.h", c_h="d.h", d_h="e.h", e_h="c.h", f_h="a.h"))
    assert sorted(found) == [["src/a", "src/b"], ["src/c", "src/d", "src/e"]]


def test_a_header_beside_the_file_comes_first() -> None:
    files = {"src/x/a.h": '#include "b.h"\n', "src/x/b.h": "", "src/y/b.h": '#include "x/a.h"\n'}
    assert include_cycles.cycles(files) == []
    assert include_cycles.cycles({**files, "src/x/b.h": '#include "../y/b.h"\n'}) == [["src/x/a", "src/x/b", "src/y/b"]]


def test_tests_do_not_count() -> None:
    files = {"src/a.h": '#include "b.h"\n', "src/b.h": '#include "a_test.cpp"\n', "src/a_test.cpp": '#include "a.h"\n'}
    assert len(include_cycles.cycles(files)) == 1
    assert list(include_cycles.larger_than(2, files)) == []
    assert list(include_cycles.larger_than(1, {**files, "src/b.h": '#include "a.h"\n'})) != []
