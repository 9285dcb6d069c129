"""What a growth costs mpiexec: daemons and processes of a large job are played to the step manager's core.

The program is bench/growth_reports.cpp.  It needs no MPI, only the compiler; its figures are processor time, so that a
busy machine matters little.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from .bench import Bench, Skipped
from .result import Case, ratio_case

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "src" / "pm" / "hydra" / "elastic" / "Makefile.tests"
DAEMONS = 400
LEAST, MORE, MOST = 5000, 10000, 20000  # processes


def build(folder: Path) -> Path:
    """The program, compiled where the unit tests are."""
    build_folder = Path(os.environ.get("ELASTIC_BUILD") or ROOT / "build") / "unit" / "bench"
    target = build_folder / "growth_reports"
    command = ["make", "-s", f"-j{os.cpu_count()}", "-f", str(RULES), f"BUILD={build_folder}", str(target)]
    with (folder / "reports-build.log").open("w") as log:
        if subprocess.run(command, stdout=log, stderr=log, check=False).returncode != 0:
            raise Skipped(f"growth_reports cannot be compiled: {log.name}")
    return target


def per_process(program: Path, processes: int) -> tuple[float, float]:
    """Microseconds of processor time for each process: of the growth, of the end of the job."""
    command = [str(program), str(processes), str(DAEMONS)]
    line = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout)
    return line["growth_s"] * 1e6 / processes, line["end_s"] * 1e6 / processes


def reports(bench: Bench) -> list[Case]:
    program = build(bench.folder)
    rounds: dict[int, list[tuple[float, float]]] = {LEAST: [], MORE: [], MOST: []}
    for number in range(bench.amount.pick(3, 5, 15)):
        for processes, times in rounds.items():
            bench.progress.say(f"round {number + 1}, {processes} processes")
            times.append(per_process(program, processes))
    return [
        ratio_case(
            "reports", f"{what}, {processes} processes against {LEAST}", [[t[i]] for t in rounds[processes]],
            [[t[i]] for t in rounds[LEAST]], unit="µs of each process",
        )
        for i, what in enumerate(("growth", "end"))
        for processes in (MORE, MOST)
    ]  # fmt: skip
