"""The GoogleTest programs and the fuzzers that test/unit/build makes."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.folders import BUILD, ROOT

UNIT = BUILD / "unit"
LIMIT_S = 600
FUZZERS_IN = ("src/rm", "src/pm/hydra/elastic", "src/mpi/dynproc")


@dataclass(frozen=True)
class Program:
    """One GoogleTest program of a variant (plain, asan, tsan)."""

    variant: str
    title: str

    @property
    def path(self) -> Path:
        suffix = {"step": "", "measure": "", "data": "-data", "epop": "-epop"}
        if self.title == "rm":
            return self._rm / "rm_tests"
        name = {"step": "core_tests", "measure": "perf_tests"}.get(self.title, f"{self.title}_tests")
        return UNIT / f"{self.variant}{suffix[self.title]}" / name

    @property
    def _rm(self) -> Path:
        return BUILD / "rm" if self.variant == "plain" else UNIT / f"{self.variant}-rm"

    def environment(self) -> dict[str, str]:
        seeds = os.environ.get("SEEDS", "100")
        found = {**os.environ, "ELASTIC_SIMULATION_SEEDS": seeds, "GTEST_COLOR": "no"}
        found |= {"ELASTIC_COMMAND": str(self._rm / "elastic"), "ELASTIC_RM_BUILD": str(self._rm)}
        if self.variant != "plain":
            found.setdefault("ELASTIC_LITMUS_EPOCHS", "1500")
        return found

    def cases(self) -> list[str]:
        """Suite.Name of each test."""
        done = subprocess.run([str(self.path), "--gtest_list_tests"], capture_output=True, text=True, check=True)
        names, suite = [], ""
        for line in done.stdout.splitlines():
            word = line.split("#", 1)[0].rstrip()
            if line.startswith("  "):
                names.append(f"{suite}{word.strip()}")
            elif word.endswith("."):
                suite = word
        return [name for name in names if "DISABLED_" not in name]

    def run(self, names: list[str]) -> dict[str, tuple[str, str]]:
        """Runs some tests in one process: name -> (passed, failed, skipped or not finished; output)."""
        with tempfile.TemporaryDirectory(prefix="unit-") as folder:
            report = Path(folder) / "report.json"
            words = [f"--gtest_filter={':'.join(names)}", f"--gtest_output=json:{report}"]
            try:
                done = subprocess.run(
                    [str(self.path), *words], cwd=self.path.parent, env=self.environment(), capture_output=True,
                    text=True, errors="replace", timeout=LIMIT_S, check=False,
                )  # fmt: skip
                output = done.stdout + done.stderr + f"exit code {done.returncode}\n"
                code = done.returncode
            except subprocess.TimeoutExpired as expired:
                output, code = f"{expired.stdout}\nnot finished after {LIMIT_S} s", -1
            reported = json.loads(report.read_text()) if report.is_file() else {}
        results = {name: ("not finished", output[-6000:]) for name in names}
        for suite in reported.get("testsuites", []):
            for test in suite["testsuite"]:
                name = f"{suite['name']}.{test['name']}"
                results[name] = _result(test, _printed(output, name))
        if code != 0 and all(result == "passed" for result, _ in results.values()):
            # A sanitizer's report at the end of the process, for example: no test of the suite counts.
            results = {name: ("failed", output[-6000:]) for name in names}
        return results


def _printed(output: str, name: str) -> str:
    """What a test printed: the report of GoogleTest 1.12 does not have the reasons of skips."""
    _, _, rest = output.partition(f"[ RUN      ] {name}\n")
    return rest.partition(f"] {name}")[0].rpartition("\n")[0]


def _result(test: dict[str, Any], printed: str) -> tuple[str, str]:
    if test.get("failures"):
        return "failed", "\n".join(failure["failure"] for failure in test["failures"])
    if test["result"] == "SKIPPED" or test.get("skipped"):
        return "skipped", printed
    return ("passed", "") if test["result"] == "COMPLETED" else ("not finished", test["result"])


PROGRAMS = ("step", "measure", "data", "epop", "rm")


@functools.cache
def build(*variants: str) -> str:
    """Brings the programs up to date; the compiler's last lines if they cannot be compiled.

    `./run test` has done so already, and says that by ELASTIC_UNIT_BUILT."""
    missing = set(variants) - set(os.environ.get("ELASTIC_UNIT_BUILT", "").split())
    if not missing:
        return ""
    command = [str(ROOT / "test" / "unit" / "build"), *sorted(missing)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else "\n".join((done.stdout + done.stderr).splitlines()[-40:])


def fuzzers() -> dict[str, Path]:
    """Name of each fuzzer -> its program."""
    found = {}
    for folder in FUZZERS_IN:
        for source in sorted((ROOT / folder).rglob("*_fuzz.cpp")):
            if folder == "src/rm":
                base, below = UNIT / "fuzz-rm", source.relative_to(ROOT / folder)
            elif folder == "src/mpi/dynproc":
                base, below = UNIT / "fuzz", Path("dynproc") / source.name
            else:
                base, below = UNIT / "fuzz", source.relative_to(ROOT / folder)
            found[source.stem] = base / "fuzz" / below.with_suffix("")
    return found
