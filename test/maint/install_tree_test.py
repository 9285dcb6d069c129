"""maint/install-tree: `make install` and `make uninstall` on small trees."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).resolve().parents[2] / "maint" / "install-tree")


def run(*arguments: object) -> str:
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def paths(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    stage = tmp_path / "stage"
    for name, mode in {"opt/x/bin/mpiexec": 0o755, "opt/x/lib/libmpi.so.12": 0o644, "opt/x/lib/python/m.py": 0o644}.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        path.chmod(mode)
    (stage / "opt/x/lib/libmpi.so").symlink_to("libmpi.so.12")
    return stage


def test_uninstall_leaves_nothing(tmp_path: Path, stage: Path) -> None:
    root, record = tmp_path / "root", tmp_path / "record"
    run(stage, root, record)
    assert paths(root) == paths(stage)
    assert (root / "opt/x/bin/mpiexec").stat().st_mode & 0o777 == 0o755
    assert (root / "opt/x/lib/libmpi.so").is_symlink()
    (root / "opt/x/lib/python/__pycache__").mkdir()
    (root / "opt/x/lib/python/__pycache__/m.cpython-311.pyc").touch()
    run("--remove", root, record)
    assert not root.exists()


def test_uninstall_removes_nothing_else(tmp_path: Path, stage: Path) -> None:
    root, record = tmp_path / "root", tmp_path / "record"
    before = {"opt", "opt/x", "opt/x/lib", "opt/x/lib/libother.so", "opt/x/share"}
    (root / "opt/x/lib").mkdir(parents=True)
    (root / "opt/x/share").mkdir()  # an empty folder that was there
    (root / "opt/x/lib/libother.so").touch()
    run(stage, root, record)
    (root / "opt/x/bin/theirs").touch()
    run("--remove", root, record)
    assert paths(root) == before | {"opt/x/bin", "opt/x/bin/theirs"}


def test_what_an_earlier_installation_has_put_there_goes_too(tmp_path: Path, stage: Path) -> None:
    root, other, record = tmp_path / "root", tmp_path / "other", tmp_path / "record"
    run(stage, root, record)
    run(stage, other, record)
    (stage / "opt/x/bin/mpiexec").rename(stage / "opt/x/bin/mpirun")
    run(stage, root, record)
    run("--remove", root, record)
    assert not root.exists() and (other / "opt/x/bin/mpiexec").exists()


def test_a_running_program_keeps_its_file(tmp_path: Path, stage: Path) -> None:
    root, record = tmp_path / "root", tmp_path / "record"
    run(stage, root, record)
    with (root / "opt/x/bin/mpiexec").open() as running:
        (stage / "opt/x/bin/mpiexec").write_text("another")
        run(stage, root, record)
        assert running.read() == "opt/x/bin/mpiexec"
    assert (root / "opt/x/bin/mpiexec").read_text() == "another"


def test_an_interrupted_installation_can_be_removed(tmp_path: Path, stage: Path) -> None:
    root, record = tmp_path / "root", tmp_path / "record"
    (root / "opt/x/lib/python/m.py").mkdir(parents=True)  # with the name of a file
    done = subprocess.run([PROGRAM, stage, root, record], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "m.py" in done.stderr
    (root / "opt/x/lib/python/m.py").rmdir()
    run("--remove", root, record)
    assert paths(root) == {"opt", "opt/x", "opt/x/lib", "opt/x/lib/python"}


def test_where_nothing_was_installed_nothing_is_removed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = subprocess.run([PROGRAM, "--remove", tmp_path, tmp_path / "record"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and str(tmp_path) in done.stderr and (tmp_path / "file").exists()
