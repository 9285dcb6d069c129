"""Command line, order of the sections, and what is written."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from . import (
    data, elasticd, hosts, joining, model, monitoring, page, phases, processes, record, report, reports, scaling, sessions, windows, worlds,
)  # fmt: skip
from .bars import BARS
from .bench import Amount, Bench, Section, Skipped
from .launch import Mpi, RunFailure
from .report import Report
from .result import Case, Progress

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def _model(bench: Bench) -> list[Case]:
    bench.extra["model"] = model.measure(bench)
    return []


SECTIONS = (
    Section("stock", "against stock MPICH", ("stock",), worlds.against_stock),
    Section("pack", "packing of derived datatypes", ("pack",), worlds.packing),
    Section("adapted", "adapted worlds", ("adapted",), worlds.adapted),
    Section("probe", "probe", ("probe", "probe_flat"), windows.probe),
    Section(
        "standstill", "standstill", ("standstill", "standstill_spread", "spawn"),
        windows.standstills,
    ),  # fmt: skip
    Section("busy", "standstill beside others", ("standstill_busy",), windows.busy),
    Section("window", "bandwidth in the window", ("window",), worlds.window),
    Section(
        "processes", "processes that a program starts",
        ("processes", "process_connect", "process_spawn", "task_system", "task_spawn", "modify_adaptation", "modify_spawn"),
        processes.processes,
    ),  # fmt: skip
    Section("undisturbed", "throughput of staying processes", ("undisturbed",), joining.undisturbed),
    Section("offered", "time to the offer", ("offered",), joining.offered),
    Section("endurance", "many adaptations", ("endurance", "flat"), windows.endurance),
    Section("hosts", "two hosts", ("hosts",), hosts.standstill),
    Section("oversubscribed", "oversubscribed nodes", ("oversubscribed",), worlds.oversubscribed),
    Section(
        "oversubscribed_launch", "launch on an oversubscribed node", ("oversubscribed_launch",), worlds.oversubscribed_launch
    ),
    Section("reports", "reports of a large job", ("reports",), reports.reports),
    Section(
        "monitoring", "measuring programs",
        ("graph_step", "graph_flat", "graph_change", "graph_pack", "graph_linear", "graph_reduce", "graph_processes",
         "graph_homogeneous", "graph_processes_many", "measured_writes", "measured_known", "measured_small", "measured_large"),
        monitoring.monitoring,
    ),  # fmt: skip
    Section(
        "data", "data in the window",
        ("data_bytes", "data_hand", "data_root", "data_alltoallv", "data_bandwidth", "data_memory",
         "data_memory_sum", "data_schedule", "mark"), data.data,
    ),  # fmt: skip
    Section(
        "sessions", "sessions",
        (
            "session_queries", "session_lookups", "session_start", "session_world", "session_collectives", "session_component",
            "session_stock", "session_stock_start", "session_create", "processes_joined", "session_change",
            "session_change_met", "session_told", "session_memory",
        ), sessions.sessions,
    ),  # fmt: skip
    Section("phases", "programs of phases", ("epop_time", "epop_share"), phases.phases),
    Section("scaling", "MPI time and efficiency", ("law_efficiency", "law_order", "law_share"), scaling.models),
    Section(
        "traces", "MPI time as a trace shows it", ("trace_mpi", "trace_ratio", "trace_inner"), scaling.traces
    ),
    Section(
        "elasticd", "elasticd on a large machine",
        ("elasticd_turn", "elasticd_history", "elasticd_queue", "elasticd_readers", "elasticd_start", "elasticd_status"),
        elasticd.elasticd, needs_stock=False,
    ),  # fmt: skip
    Section("why", "elastic why", ("elasticd_why", "elasticd_why_queue"), elasticd.why, needs_stock=False),
    Section("model", "model of the cost", (), _model),
)
NOT_QUICK = {"model"}
QUICK_S = 240.0  # no section begins later with --quick


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="maint/bench",
        description="Measures an installed Elastic MPICH, side by side with stock MPICH where that is the"
        " reference, and reports which bars hold.  doc/developer/benchmarks.md explains how to read it.",
    )
    parser.add_argument("prefix", type=Path, help="where it is installed")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="less of everything, under 5 minutes")
    amount.add_argument("--full", action="store_true", help="everything, an hour or more")
    parser.add_argument(
        "--stock", type=Path, metavar="PREFIX", help="an installed stock MPICH 4.0.2"
    )
    parser.add_argument("--no-stock", action="store_true", help="leave out what needs stock MPICH")
    parser.add_argument(
        "--output", type=Path, default=Path("bench-output"), help="folder for what is made"
    )
    parser.add_argument(
        "--only", action="append", choices=[s.key for s in SECTIONS], metavar="SECTION",
        help="only this section (may be repeated): " + ", ".join(s.key for s in SECTIONS),
    )  # fmt: skip
    parser.add_argument(
        "--record", action="store_true", help="write the figures into doc/record/performance.md, with plot and results"
    )
    parser.add_argument(
        "--list", action="store_true", help="show the bars and sections, measure nothing"
    )
    return parser.parse_args()


def list_bars() -> None:
    for section in SECTIONS:
        print(f"{section.key}: {section.title}")
        for bar in (BARS[key] for key in section.bars):
            print(
                f"    {bar.title}: {bar.limit_text()}\n        {bar.measured}\n        against: {bar.reference}"
            )


def stock_prefix(options: argparse.Namespace) -> Path | None:
    """Given, built before, or built now (that takes as long as building this library did)."""
    if options.no_stock:
        return None
    if options.stock:
        return Path(options.stock).resolve()
    build = Path(os.environ.get("ELASTIC_BUILD") or REPOSITORY / "build").resolve()
    prefix = build / "stock-install"
    command = [
        str(REPOSITORY / "maint" / "build"),
        "--stock",
        "--build-dir",
        str(build),
        "--prefix",
        str(prefix),
    ]
    # Quick if it is there already; it states so itself if it is not.
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        print("bench: no stock MPICH; leaving out what needs it", file=sys.stderr)
        return None
    return prefix


def measure_all(bench: Bench, chosen: list[Section], result: Report) -> None:
    begin = time.monotonic()
    for section in chosen:
        bench.progress.section = section.title
        bench.progress.report("begins", force=True)
        try:
            if bench.amount is Amount.QUICK and time.monotonic() - begin > QUICK_S:
                raise Skipped("the time of --quick is used up; the machine is busy")
            result.cases += section.measure(bench)
        except Skipped as why:
            result.skipped[section.title] = str(why)
        except (
            RunFailure,
            OSError,
            ValueError,
            LookupError,
            subprocess.SubprocessError,
        ) as failure:
            result.failed[section.title] = f"{type(failure).__name__}: {failure}"
        result.seconds = time.monotonic() - begin
        write(result)  # what there is so far
    bench.progress.clear()


def write(result: Report) -> None:
    folder = result.bench.folder
    (folder / "bench.json").write_text(json.dumps(report.as_json(result)) + "\n")
    (folder / "bench.html").write_text(page.html(result))


def write_record(result: Report) -> None:
    """Sections that failed or were skipped keep their former figures."""
    files = record.Files(REPOSITORY / "doc" / "record")
    record.write(files, record.merge(record.read(files), record.results_of(result, record.commit_of(REPOSITORY))))
    print(f"\nrecorded in {os.path.relpath(files.page)}, {files.plot.name} and {files.results.name}")


def lock_folder(folder: Path) -> TextIO | None:
    """Held as long as the file is open: two runs would measure each other anyway."""
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / ".lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def main() -> int:
    options = arguments()
    if options.list:
        list_bars()
        return 0
    amount = Amount.QUICK if options.quick else Amount.FULL if options.full else Amount.USUAL
    folder = options.output.resolve()
    lock = lock_folder(folder)
    if lock is None:
        print(f"bench: another run works in {folder}; use --output", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):  # also when started in the background
        signal.signal(number, signal.default_int_handler)
    for prefix in (folder for folder in (options.prefix, options.stock) if folder):
        if not os.access(prefix / "bin" / "mpiexec", os.X_OK):
            print(f"bench: {prefix}/bin/mpiexec is not there: is that an installed MPI?", file=sys.stderr)
            return 2
    # Programs find the library that they were compiled with by themselves.
    os.environ.pop("LD_LIBRARY_PATH", None)
    chosen = [
        s for s in SECTIONS
        if (s.key in options.only if options.only else amount is not Amount.QUICK or s.key not in NOT_QUICK)
    ]  # fmt: skip
    stock = stock_prefix(options) if any(section.needs_stock for section in chosen) else None
    bench = Bench(
        Mpi("ours", options.prefix.resolve(), folder), Mpi("stock", stock, folder) if stock else None,
        amount, folder, Progress(),
    )  # fmt: skip
    result = Report(bench, shlex.join(["maint/bench", *sys.argv[1:]]), machine=report.machine())
    try:
        for mpi in filter(None, (bench.ours, bench.stock)):
            mpi.compile()
        measure_all(bench, chosen, result)
    except RunFailure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        bench.progress.clear()
        print("bench: interrupted", file=sys.stderr)
        return 130
    report.print_report(result)
    if options.record:
        write_record(result)
    print(
        f"\nall samples: {os.path.relpath(folder / 'bench.json')}; plots: {os.path.relpath(folder / 'bench.html')}"
    )
    lock.close()
    return 1 if result.failed else 0
