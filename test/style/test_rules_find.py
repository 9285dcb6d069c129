"""Each rule of maint/check-style finds a file that breaks it: a rule that never finds anything would hide errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAINT = ROOT / "maint"
sys.path.insert(0, str(MAINT))
import overlay  # noqa: E402

# Later than the commits that the rule leaves as they are.
COMMITTED = {"GIT_COMMITTER_DATE": "2030-01-01T00:00:00Z"}
# Rule, files, text that breaks it; NEXT is the next of the files.  Texts that no file may hold are put together here.
BROKEN = [
    ("clean_lines", "src/a.c", "/* a */\nint a; \n"),
    ("clean_lines", "src/b.c", "/* b */\n\tint b;\n"),
    ("clean_lines", "src/c.c", "/* c */"),
    ("line_lengths", "doc/a.md", "word " * 30 + "\n"),
    ("line_lengths", "src/rm/core/a.cpp", "/* " + "a" * 100 + " */\n"),
    ("subject_first", "doc/a.md", "Who" + " has started the job is its owner from then on.\n"),
    ("words_of_the_glossary", "doc/a.md", "The process " + "tells the daemon its size.\n"),
    ("named_files", "doc/developer/a.md", "Its state is in `no_such_file.c`.\n"),
    ("named_files", "doc/glossary.md", "| `tasks/` | slots | `world.cpp` |\n"),
    ("named_files", "CONTRIBUTING.md", "| `tasks/` | slots | `slots.cpp` |\n| | worlds | `world.cpp` |\n"),
    ("named_tests", "SECURITY.md", "| a port | all of it | `limits hold`, `no such test` |\n"),
    ("links", "doc/a.md", "See [b](b.md).\n"),
    ("links", "doc/c.md", "# C: `a`, b\n\n[A](#c-a-b), [d](#d)\n"),
    ("allowed_includes", "src/pm/hydra/elastic/stepmgr/tasks/a.cpp", '/* a */\n#include "stepmgr/psets/psets.h"\n'),
    ("allowed_includes", "src/pm/hydra/elastic/stepmgr/new/a.cpp", "/* a */\n"),
    ("includes", "src/rm/core/a.cpp", '/* a */\n#include "api/api.h"\n'),
    ("includes", "src/base/a.cpp", '/* a */\n#include "core/core.h"\n'),
    ("includes", "src/mpid/ch4/src/a.c", "/* a */\nvoid f(void) { MPIDI_OFI_f(); }\n"),
    ("includes", "src/mpi/adapt/a.c", "/* a */\nvoid f(void) { MPIDI_NM_f(); }\n"),
    ("include_cycles_are_small", "src/a.h src/b.h src/c.h src/d.h src/e.h", '/* a */\n#include "NEXT"\n'),
    ("commit_subjects", "a.txt", "a\n"),
    ("file_lengths", "src/a.c", "/* a */\n" * 501),
    ("no_machine_paths", "doc/a.md", "See /" + "home/somebody/notes.\n"),
    ("nothing_foreign", "src/a.c", "/* Copyright (C) by Argonne" + " National Laboratory */\n"),
    ("nothing_foreign", "src/b.c", "<" * 7 + " HEAD\n"),
    ("terms_of_the_field", "src/mpi/adapt/a.c", "/* the process is " + "gone */\n"),
    ("terms_of_the_field", "test/elastic/harness/a.py", "def list_join" + "ers():\n"),
    ("purpose_first", "src/a.c", "int a;\n"),
    ("executable_programs", "maint/a", "#!/bin/sh\n# a\n"),
    ("python_compiles", "maint/a.py", "# a\ndef f(:\n"),
    ("python_has_types", "test/rm/a.py", "# a\nclass A:\n    ended: set[int]\n\n    def ended(self) -> None: ...\n"),
    ("python_has_types", "maint/b", "#!/usr/bin/python3\n# b\nimport time\n\nif time.sleep(1):\n    pass\n"),
    ("shell_is_clean", "maint/a.sh", "# a\nfor i in $(ls *.c); do rm $i; done\n[ $a = ]\n"),
    ("cxx_layout", "src/rm/core/a.cpp", "/* a */\n" + "int  f( int x ){return x ;}\n" * 40),
]


@pytest.fixture(scope="module", name="style")
def load_style() -> ModuleType:
    loader = SourceFileLoader("check_style", str(MAINT / "check-style"))
    spec = spec_from_loader("check_style", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(name="tree")
def make_tree(tmp_path: Path, style: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty tree with our tables, in which the rules check; headers are those of the repository."""
    known = style.repository_files()
    (tmp_path / "maint").mkdir()
    for name in ("maint/architecture", ".clang-format", "mypy.ini"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(overlay, "ROOT", tmp_path)
    monkeypatch.setattr(style, "repository_files", lambda: known)
    return tmp_path


def test_every_rule_has_a_broken_file(style: ModuleType) -> None:
    assert {rule.__name__ for rule in style.RULES} == {name for name, _, _ in BROKEN}


@pytest.mark.parametrize("rule, name, text", BROKEN, ids=[f"{rule}-{name}" for rule, name, _ in BROKEN])
def test_rule_finds(rule: str, name: str, text: str, style: ModuleType, tree: Path) -> None:
    names = name.split()
    for one, following in zip(names, [*names[1:], names[0]], strict=True):
        (tree / one).parent.mkdir(parents=True, exist_ok=True)
        (tree / one).write_text(text.replace("NEXT", Path(following).name), encoding="utf-8")
    if rule == "commit_subjects":
        git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=n@example.org"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a" * 73], check=True, env=os.environ | COMMITTED)
    try:
        found = list(getattr(style, rule)([style.File(one) for one in names]))
    except style.Skipped as reason:
        pytest.skip(str(reason))
    assert found, f"{rule} accepts:\n{text}"


def test_every_line_of_the_architecture_counts(style: ModuleType) -> None:
    """A room that another one may not include is refused for each line of the table."""
    lines = (ROOT / style.ARCHITECTURE).read_text(encoding="utf-8").splitlines()
    may, never = style.allowed_folders()
    rooms, errors = style.read_architecture()
    read = sum(bool(line) and not line.startswith("#") for line in lines)
    assert (len(may) + len(never) + len(rooms), errors) == (read, [])
