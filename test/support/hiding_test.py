"""No failure is taken for a success: each of these sessions must end with an exit code and a count of failures."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.folders import ROOT

HIDES = {
    "exit": "import pytest\ndef test_a(): pytest.exit('over', returncode=0)\ndef test_b(): assert False\n",
    "process-exits": "import os\ndef test_a(): os._exit(0)\ndef test_b(): pass\n",
    "process-is-replaced": "import os\ndef test_a(): os.execlp('true', 'true')\ndef test_b(): pass\n",
    "worker-exits": "import ctypes\ndef test_a(): ctypes.CDLL(None)._exit(0)\ndef test_b(): pass\n",
    "worker-is-killed": "import os\ndef test_a(): os.kill(os.getpid(), 9)\ndef test_b(): pass\n",
    "no-parameters": "import pytest\n@pytest.mark.parametrize('x', [])\ndef test_a(x): pass\ndef test_b(): pass\n",
    "generator": "def test_a():\n    yield\n    assert False\ndef test_b(): pass\n",
    "coroutine": "async def test_a(): assert False\ndef test_b(): pass\n",
    "returns": "def test_a(): return False\ndef test_b(): pass\n",
    "expected": "import pytest\n@pytest.mark.xfail\ndef test_a(): assert False\ndef test_b(): pass\n",
    "constructor": "class TestA:\n    def __init__(self): pass\n    def test_a(self): assert False\ndef test_b(): pass\n",
    "import": "import no_such_module\ndef test_a(): pass\n",
    "nothing": "",
    "teardown": "import pytest\n@pytest.fixture\ndef x():\n    yield\n    assert False\ndef test_a(x): pass\n",
    "leaves": "import subprocess\ndef test_a(): subprocess.Popen(['sleep', '1000'])\n",
}


def write_session(folder: Path, tests: str) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of a pytest that runs these tests with our rules."""
    (folder / "test_probe.py").write_text(tests, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(ROOT / "test"), "ELASTIC_TEST_GRACE_S": "1"}
    words = ["-c", str(ROOT / "pytest.ini"), "--rootdir", str(folder), "-p", "no:cacheprovider", "-p", "conftest", str(folder)]
    return words, environment


@pytest.mark.parametrize("name", HIDES)
def test_is_a_failure(name: str, tmp_path: Path) -> None:
    words, environment = write_session(tmp_path, HIDES[name])
    command = [sys.executable, "-m", "pytest", *(["-n", "1"] if name.startswith("worker") else []), *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.splitlines()[-1]
    assert done.returncode != 0 and re.fullmatch(r"\d+ passed, [1-9]\d* failed", last), done.stdout + done.stderr


FAILS_AND_WAITS = """
import pathlib, time
def test_a(): raise ValueError("of a")
def test_b():
    while not pathlib.Path("go").exists(): time.sleep(0.1)
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "worker"])
def test_a_failure_is_named_before_the_next_test_ends(workers: list[str], tmp_path: Path) -> None:
    words, environment = write_session(tmp_path, FAILS_AND_WAITS)
    command = [sys.executable, "-u", "-m", "pytest", *workers, *words]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert any(re.fullmatch(r"failed: test_probe.py::test_a: ValueError: of a", line.strip()) for line in process.stdout)
        (tmp_path / "go").touch()
        assert process.stdout.read().splitlines()[-1] == "1 passed, 1 failed"


RUN_PYTEST = """eval "$(sed -n '/^run_pytest()/,/^}/p' "$0")"
total_passed=2 total_failed=0 total_skipped=0
run_pytest probe "$@" >/dev/null
echo $total_passed $total_failed $total_skipped"""


@pytest.mark.parametrize(
    ("tests", "totals"),
    [
        ("def test_a(): pass\ndef test_b(): pass\n", "4 0 0"),
        ("def test_a(): assert False\ndef test_b(): pass\n", "3 1 0"),
        ("import ctypes\ndef test_a(): print('9 passed, 0 failed')\ndef test_b(): ctypes.CDLL(None)._exit(0)\n", "2 1 0"),
    ],
    ids=["passes", "fails", "ends-pytest"],
)
def test_run_counts_what_pytest_has_finished(tests: str, totals: str, tmp_path: Path) -> None:
    """./run test: a pytest that ends with exit code 0 before its closing line has failed, also after an earlier run."""
    words, environment = write_session(tmp_path, tests)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "probe.xml").write_text("of an earlier run", encoding="utf-8")
    command = ["bash", "-c", RUN_PYTEST, str(ROOT / "run"), *words]
    environment |= {"BUILD": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == totals.split(), done.stdout + done.stderr


def named_twice(path: Path) -> list[str]:
    """Functions of a module or of a class that a later one of the same name replaces."""
    found = []
    for scope in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(scope, (ast.Module, ast.ClassDef)):
            continue
        names = [node.name for node in scope.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
        found += [f"{path}: {name}" for name in sorted(set(names)) if names.count(name) > 1]
    return found


def test_no_test_replaces_another() -> None:
    modules = list((ROOT / "test").rglob("*.py"))
    assert len(modules) > 80
    assert [name for path in modules for name in named_twice(path)] == []
