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
SOURCES = ROOT / "src"
LIMIT_S = 600


@dataclass(frozen=True)
class Program:
    """One GoogleTest program of a variant: plain, asan, tsan, or clang (the tested code is compiled by clang with
    sanitizers)."""

    variant: str
    title: str

    @property
    def path(self) -> Path:
        suffix = {"step": "", "measure": "", "data": "-data", "epop": "-epop"}
        if self.variant == "clang":
            return SANITIZED[self.title]
        if self.title in ("rm", "rm-core"):
            return self._rm / f"{self.title.replace('-', '_')}_tests"
        name = {"step": "core_tests", "measure": "perf_tests"}.get(self.title, f"{self.title}_tests")
        return UNIT / f"{self.variant}{suffix[self.title]}" / name

    @property
    def _rm(self) -> Path:
        return BUILD / "rm" if self.variant in ("plain", "asan", "clang") else UNIT / f"{self.variant}-rm"

    def environment(self) -> dict[str, str]:
        # elasticd's simulation takes a second for each seed under sanitizers.
        seeds = os.environ.get("SEEDS") or ("20" if (self.variant, self.title) == ("clang", "rm-core") else "100")
        found = {**os.environ, "ELASTIC_SIMULATION_SEEDS": seeds, "GTEST_COLOR": "no"}
        found |= {"ELASTIC_COMMAND": str(self._rm / "elastic"), "ELASTIC_RM_BUILD": str(self._rm)}
        if self.variant in ("asan", "clang"):  # short stacks of allocations; a call by hand shows them whole
            found.setdefault("ASAN_OPTIONS", "malloc_context_size=3")
        if self.variant in ("asan", "tsan"):
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
                printed = (expired.stdout or b"").decode(errors="replace")
                output, code = f"{printed}\nnot finished after {LIMIT_S} s", -1
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
    """The output of a test: the report of GoogleTest 1.12 does not have the reasons of skips."""
    _, _, rest = output.partition(f"[ RUN      ] {name}\n")
    return rest.partition(f"] {name}")[0].rpartition("\n")[0]


def _result(test: dict[str, Any], printed: str) -> tuple[str, str]:
    if test.get("failures"):
        return "failed", "\n".join(failure["failure"] for failure in test["failures"])
    if test["result"] == "SKIPPED" or test.get("skipped"):
        return "skipped", printed
    return ("passed", "") if test["result"] == "COMPLETED" else ("not finished", test["result"])


PROGRAMS = ("step", "measure", "data", "epop", "rm-core", "rm")
# The programs that test/unit/build makes as `quick`: each program once, the cores and the parsers under sanitizers.
SANITIZED = {
    "step": UNIT / "plain" / "fuzz" / "core_tests", "rm-core": BUILD / "rm" / "fuzz" / "rm_core_tests",
    "rm": BUILD / "rm" / "fuzz" / "rm_tests",
}  # fmt: skip
QUICK = (
    Program("clang", "step"), Program("asan", "measure"), Program("asan", "data"), Program("asan", "epop"),
    Program("clang", "rm-core"), Program("plain", "rm"),
)  # fmt: skip
# `full` adds these. The cores of both programs have one thread, so that TSan checks the rest of them.
FULL = (Program("clang", "rm"), Program("asan", "step"), Program("tsan", "step"), Program("tsan", "rm"))


def built_already() -> set[str]:
    """The programs that `./run test` has brought up to date; ELASTIC_UNIT_BUILT lists it."""
    variants = set(os.environ.get("ELASTIC_UNIT_BUILT", "").split())
    return variants | {"fuzz"} if "quick" in variants else variants


@functools.cache
def build(*variants: str) -> str:
    """Brings the programs up to date; the compiler's last lines if they cannot be compiled."""
    missing = set(variants) - built_already()
    if not missing:
        return ""
    command = [str(ROOT / "test" / "unit" / "build"), *sorted(missing)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else "\n".join((done.stdout + done.stderr).splitlines()[-40:])


@dataclass(frozen=True)
class Fuzzer:
    source: Path
    program: Path

    @property
    def seed(self) -> Path | None:
        """The input to begin with, if one is committed beside the source, or generated."""
        committed = any(self.source.with_suffix(suffix).exists() for suffix in (".seed", ".hex"))
        seed = self.program.with_name(f"{self.program.name}.seed")
        return seed if committed or seed.exists() else None


def fuzzers() -> dict[str, Fuzzer]:
    """Each fuzzer by its name."""
    return {source.stem: Fuzzer(source, _fuzzer_program(source)) for source in sorted(SOURCES.rglob("*_fuzz.cpp"))}


def _fuzzer_program(source: Path) -> Path:
    """Where the makefiles make it; those of other folders are rules of the step manager's makefile."""
    rm, stepmgr = SOURCES / "rm", SOURCES / "pm" / "hydra" / "elastic"
    if source.is_relative_to(rm):
        return BUILD / "rm" / "fuzz" / source.relative_to(rm).with_suffix("")
    below = source.relative_to(stepmgr if source.is_relative_to(stepmgr) else source.parent.parent)
    return UNIT / "plain" / "fuzz" / below.with_suffix("")
