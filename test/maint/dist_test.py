"""configure, `make dist` and the targets above them, in a copy of this repository: nothing is compiled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"configure", "Makefile.in", "aclocal.m4", "build-aux/install-sh", "build-aux/missing"}
IDENTITY = {f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def call(folder: Path, *command: str, **variables: str) -> str:
    done = subprocess.run(command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def tracked() -> list[str]:
    """The files of this repository, also of an unpacked tarball."""
    if (ROOT / "dist-files").is_file():
        return (ROOT / "dist-files").read_text().split("\n")[:-1]
    return call(ROOT, "git", "ls-files", "-z").split("\0")[:-1]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git clone with the present content of the files, and a configure."""
    folder = tmp_path_factory.mktemp("clone")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for command in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "copy"]):
        call(folder, "git", *command, **IDENTITY)
    call(folder, "./autogen.sh")
    return folder


@pytest.fixture(scope="module")
def tarball(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(call(clone, "maint/dist", str(tmp_path_factory.mktemp("dist"))).strip())


def test_tarball_holds_the_tracked_files_and_configure(clone: Path, tarball: Path) -> None:
    (clone / "not-tracked").touch()
    version = re.search(r"^AC_INIT\(\[[^]]*\], \[([^]]*)\]", (ROOT / "configure.ac").read_text(), re.M)
    assert version and tarball.name == f"elastic-mpich-{version[1]}.tar.gz"
    with tarfile.open(tarball) as archive:
        members = [member for member in archive if not member.isdir()]
    top = f"elastic-mpich-{version[1]}/"
    assert all(member.name.startswith(top) for member in members)
    found = {member.name.removeprefix(top): member.mode for member in members}
    assert set(found) == {*tracked(), *GENERATED, "dist-files"}
    assert found["configure"] & 0o111 and found["run"] & 0o111 and not found["README.md"] & 0o111


def test_tarball_of_a_tarball_is_the_same(tarball: Path, tmp_path: Path) -> None:
    call(tmp_path, "tar", "-x", "-f", str(tarball))
    again = Path(call(tmp_path / tarball.name.removesuffix(".tar.gz"), "maint/dist", str(tmp_path)).strip())
    assert again.read_bytes() == tarball.read_bytes()


def test_a_missing_file_is_an_error(tarball: Path, tmp_path: Path) -> None:
    call(tmp_path, "tar", "-x", "-f", str(tarball))
    folder = tmp_path / tarball.name.removesuffix(".tar.gz")
    (folder / "NEWS.md").unlink()
    done = subprocess.run(["maint/dist", str(tmp_path)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "NEWS.md" in done.stderr and not (tmp_path / tarball.name).exists()


# A compiler that knows nothing of two libraries of elasticd.
COMPILER = '#!/bin/bash\ntext=\n[[ " $* " != *" - "* ]] || text=$(cat)\n[[ $text$* =~ sqlite3|CLI/ ]] && exit 1\nexec g++ "$@" <<<"$text"\n'


def configure(clone: Path, folder: Path, *arguments: str) -> tuple[int, str]:
    compiler = folder / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    command = [str(clone / "configure"), f"--prefix={folder}/inst", f"CXX={compiler}", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_configure_reports_all_that_is_missing(clone: Path, tmp_path: Path) -> None:
    code, output = configure(clone, tmp_path)
    assert code != 0 and not (tmp_path / "Makefile").exists()
    for text in ("missing or too old (2):", "dnf install cli11-devel sqlite-devel", "checking for hwloc 2.0... "):
        assert text in output, output


def test_configure_without_elasticd_in_a_folder_beside(clone: Path, tmp_path: Path) -> None:
    before = {path for path in clone.rglob("*") if ".git" not in path.parts}
    code, output = configure(clone, tmp_path, "--without-elasticd", "--disable-fortran", "MPICHLIB_CFLAGS=-g -O1")
    assert code == 0, output
    assert {path for path in clone.rglob("*") if ".git" not in path.parts} == before
    options = (tmp_path / "mpich.options").read_text().splitlines()
    assert "MPICHLIB_CFLAGS=-g -O1" in options and "--disable-fortran" in options and f"CXX={tmp_path}/compiler" in options
    assert not [option for option in options if "elasticd" in option or "prefix" in option]
    planned = call(tmp_path, "make", "-n", "all", "check")
    assert len(re.findall(r"maint/build .*--without-elasticd", planned)) == 2
    assert re.search(r"maint/check \S+/build/check\W+--without-elasticd", planned)


def test_install_and_uninstall_are_of_one_stage(clone: Path, tmp_path: Path) -> None:
    """maint/build is replaced by a program that puts one file there."""
    code, output = configure(clone, tmp_path, "--without-elasticd")
    assert code == 0, output
    fake = tmp_path / "fake"
    fake.write_text(f"#!/bin/bash\nmkdir -p build/stage{tmp_path}/inst/bin && touch build/stage{tmp_path}/inst/bin/mpiexec\n")
    fake.chmod(0o755)
    calls = ["make", f"DESTDIR={tmp_path}/dest", f"CALL={fake}"]
    call(tmp_path, *calls, "install")
    assert (tmp_path / f"dest{tmp_path}/inst/bin/mpiexec").is_file()
    call(tmp_path, *calls, "uninstall")
    assert not (tmp_path / "dest").exists()
    call(tmp_path, "make", "distclean")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compiler", "fake"]
