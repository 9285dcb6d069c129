"""A program of phases beside the same by hand, by bench/phases: how long it takes, and what is measured of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .bench import Bench
from .launch import RunFailure
from .result import Case, Rounds, Variant, ratio_case

SOURCE = Path(__file__).resolve().parent.parent / "phases" / "phases.c"
FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")
PROCESSES = 4
WORK_MS, MU, ITERATIONS = 80, 0.5, 330  # 12 s, so that there is a sample after ten
STYLES = {"hand": ("probe", ()), "phases": ("work", ("-DPHASES_EPOP", "-lepop", "-ladapt_data"))}


def compile_style(bench: Bench, style: str) -> None:
    words = [bench.ours.bin / "mpicc", *FLAGS, SOURCE, "-o", bench.ours.folder / style, *STYLES[style][1], "-lm"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailure(f"bench/phases cannot be compiled: {done.stderr[-2000:]}")


def _share(samples: Path, loop: str) -> float:
    """Time in MPI for time outside, of the newest sample."""
    rows = json.loads(samples.read_text().splitlines()[-1])["loops"]
    row = next(row for row in rows if loop in (row["key"], row.get("name")))
    return float(row["mpi_us"] / (row["loop_us"] - row["mpi_us"]))


def _variant(bench: Bench, style: str) -> Variant:
    samples = bench.folder / f"{style}-samples"

    def run() -> dict[str, list[float]]:
        samples.unlink(missing_ok=True)
        line = bench.ours.run(
            PROCESSES, style, "-i", ITERATIONS, "-w", WORK_MS, "-m", MU, options=("--adapt-performance", samples)
        ).lines[0]  # fmt: skip
        return {"time": [line["seconds"]], "share": [_share(samples, STYLES[style][0])]}

    return run


def phases(bench: Bench) -> list[Case]:
    for style in STYLES:
        compile_style(bench, style)
    rounds = Rounds.measure(
        {style: _variant(bench, style) for style in STYLES}, bench.amount.pick(60, 180, 600), bench.progress, least=2
    )
    name = f"{PROCESSES} processes, {MU} of MPI for 1 of work"

    def case(key: str, point: str, what: str, ours: str, reference: str, unit: str) -> Case:
        return ratio_case(
            key, f"{name}{what}", rounds.of(ours, point), rounds.of(reference, point), unit, rounds.others, rounds.note()
        )

    return [
        case("epop_time", "time", "", "phases", "hand", "s"),
        case("epop_share", "share", "", "phases", "hand", ""),
        case("epop_share", "share", ", by hand", "hand", "phases", ""),
    ]
