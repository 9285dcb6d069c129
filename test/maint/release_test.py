"""maint/release: its errors, and its results."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = {f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRONMENT = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null"}
FILES = ("configure.ac", "Makefile.am", "autogen.sh", "NEWS.md", "maint/release", "maint/dist", "maint/upstream.version")
VERSION = "7.8.9"


class Clone:
    """A small repository with the files that a release needs."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        self.change("configure.ac", r"^(AC_INIT\(\[[^]]*\], \[)[^]]*", rf"\g<1>{VERSION}")
        self.change("NEWS.md", r"^## .*$", f"## {VERSION} (2030-01-02)")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def change(self, name: str, pattern: str, replacement: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        changed, count = re.subn(pattern, replacement, text, count=1, flags=re.M)
        assert count == 1
        (self.folder / name).write_text(changed, encoding="utf-8")

    def git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a state")

    def release(self, *options: str) -> tuple[int, str]:
        command = ["maint/release", VERSION, "--unsigned", "--untested", "--output", str(self.folder / "out"), *options]
        done = subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


def test_a_release_has_a_tag_a_tarball_and_its_sum(clone: Clone) -> None:
    (clone.folder / "untracked").touch()
    code, output = clone.release()
    assert code == 0, output
    tarball = clone.folder / "out" / f"elastic-mpich-{VERSION}.tar.gz"
    total = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert (clone.folder / "out" / "SHA256SUMS").read_text() == f"{total}  {tarball.name}\n"
    assert clone.git("rev-parse", f"v{VERSION}^{{commit}}") == clone.git("rev-parse", "HEAD")
    listed = subprocess.run(["tar", "-t", "-f", str(tarball)], capture_output=True, text=True, check=True).stdout
    assert f"elastic-mpich-{VERSION}/configure\n" in listed and "untracked" not in listed
    code, output = clone.release()
    assert code == 1 and f"the tag v{VERSION} exists" in output


@pytest.mark.parametrize("name, pattern, replacement, message", [
    ("NEWS.md", r"\(2030-01-02\)", "(unreleased)", "the first heading of NEWS.md"),
    ("configure.ac", re.escape(VERSION), "7.8.8", "configure.ac has another version"),
])  # fmt: skip
def test_an_unprepared_state_is_refused(clone: Clone, name: str, pattern: str, replacement: str, message: str) -> None:
    clone.change(name, pattern, replacement)
    code, output = clone.release()
    assert code == 1 and "not committed" in output
    clone.commit()
    code, output = clone.release()
    assert code == 1 and message in output
    assert not clone.git("tag") and not (clone.folder / "out").exists()


def test_another_branch_is_refused(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "topic")
    code, output = clone.release()
    assert code == 1 and "main" in output


def test_failing_tests_are_no_release(clone: Clone) -> None:
    (clone.folder / "run").write_text("#!/bin/sh\necho '1 passed, 1 failed'; exit 1\n")
    (clone.folder / "run").chmod(0o755)
    clone.commit()
    command = ["maint/release", VERSION, "--unsigned"]
    done = subprocess.run(command, cwd=clone.folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "./run test --full has failed" in done.stderr and not clone.git("tag")
