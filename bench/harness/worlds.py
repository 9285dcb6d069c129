"""Speed of worlds, by bench/world_speed.c: ours against stock, adapted against launched, the window's
bandwidth against a launched world's, oversubscribed nodes against stock."""

from __future__ import annotations

from collections.abc import Sequence

from .bench import Bench
from .launch import Mpi
from .result import Case, Rounds, Variant, ratio_case

PROGRAM = "world_speed"

SMALL_POINTS = (
    "latency:0", "latency:8", "latency:4096", "latency:65536", "latency:1048576",
    "flood:8", "flood:65536", "flood:1048576",
    "allreduce:8", "allreduce:65536", "alltoall:8", "alltoall:65536",
)  # fmt: skip
POINTS = (
    *("latency:0", "latency:1", "latency:8", "latency:64", "latency:512", "latency:4096"),
    *("latency:16384", "latency:65536", "latency:262144", "latency:1048576"),
    *("flood:8", "flood:4096", "flood:65536", "flood:1048576"),
    *("allreduce:8", "allreduce:1024", "allreduce:65536", "allreduce:1048576"),
    *("alltoall:8", "alltoall:1024", "alltoall:65536", "alltoall:1048576"),
    "barrier",
)
WINDOWS = ("win_shared", "put:8", "get:8", "put:65536", "get:65536")
APART = (
    *("latency:8", "latency:65536", "latency:1048576", "flood:8", "flood:65536", "flood:1048576"),
    *("barrier", "allreduce:8", "allreduce:65536", "latency:1024"),
    *("bcast:8", "bcast:16384", "bcast:65536", "bcast_turns:16384", "bcast_turns:65536"),
    *WINDOWS,
)
BANDWIDTH = ("flood:65536", "flood:1048576")

# How a world of two can come to be: launched size, schedule, adaptations.
HISTORIES = {
    "grow": (1, "2", 1),
    "shrink": (3, "2", 1),
    "grow after shrink": (2, "1,2", 2),
    "migration": (2, "2/leave=0+1", 1),
    "ten in a row": (2, "1,2,1,2,1,2,1,2,1,2", 10),
}


def _points(bench: Bench) -> tuple[str, ...]:
    return bench.amount.pick(SMALL_POINTS, POINTS, POINTS)


def _variant(
    mpi: Mpi,
    processes: int,
    points: Sequence[str],
    *,
    schedule: str = "",
    arguments: Sequence[object] = (),
    deadline_s: float = 120,
) -> Variant:
    def run() -> dict[str, list[float]]:
        options = ("--adapt-schedule", schedule) if schedule else ()
        return mpi.run(
            processes, PROGRAM, *arguments, *points, options=options, deadline_s=deadline_s
        ).samples()

    return run


def _start_variant(mpi: Mpi, processes: int, deadline_s: float = 120) -> Variant:
    """Only initialisation: of the slowest process, and the launch from beginning to end."""

    def run() -> dict[str, list[float]]:
        done = mpi.run(processes, PROGRAM, deadline_s=deadline_s)
        return {**done.samples(), "launch": [1e6 * done.seconds]}

    return run


def against_stock(bench: Bench) -> list[Case]:
    stock = bench.need_stock()
    points = _points(bench)
    speed = Rounds.measure(
        {"ours": _variant(bench.ours, 2, points), "stock": _variant(stock, 2, points)},
        bench.amount.pick(40, 150, 400), bench.progress, least=5,
    )  # fmt: skip
    cases = [case for case in speed.compare("stock", "ours", "stock") if case.name != "init"]
    return cases + starts_against_stock(bench)


def starts_against_stock(bench: Bench) -> list[Case]:
    """Comprés 2017, figure 12.1, in small: of more processes than processors, too."""
    stock, cases = bench.need_stock(), list[Case]()
    for processes in bench.amount.pick((2,), (2, 8, 16), (2, 8, 16)):
        starts = Rounds.measure(
            {"ours": _start_variant(bench.ours, processes), "stock": _start_variant(stock, processes)},
            bench.amount.pick(10, 30, 60), bench.progress, least=10,
        )  # fmt: skip
        cases += starts.compare("stock", "ours", "stock", "" if processes == 2 else f"{processes} processes, ")
    return cases


def packing(bench: Bench) -> list[Case]:
    """bench/pack.c: MPI_Pack and MPI_Unpack against stock.  (MPI_Accumulate on nested types descends by calls here, and is
    slower where the innermost blocks are short: pack.c measures it, no bar limits it.)"""
    def variant(mpi: Mpi) -> Variant:
        return lambda: mpi.run(1, "pack", "pack", "unpack", deadline_s=120).samples()

    rounds = Rounds.measure(
        {"ours": variant(bench.ours), "stock": variant(bench.need_stock())},
        bench.amount.pick(40, 120, 300), bench.progress, least=5,
    )  # fmt: skip
    return rounds.compare("pack", "ours", "stock")


def adapted(bench: Bench) -> list[Case]:
    points = (*_points(bench), *WINDOWS)
    variants = {"launched": _variant(bench.ours, 2, points, arguments=("--adapt", 0))}
    for name, (processes, schedule, adaptations) in HISTORIES.items():
        variants[name] = _variant(
            bench.ours, processes, points, schedule=schedule, arguments=("--adapt", adaptations)
        )
    rounds = Rounds.measure(variants, bench.amount.pick(55, 240, 600), bench.progress)
    return [
        case
        for name in HISTORIES
        for case in rounds.compare("adapted", name, "launched", f"{name}, ")
    ]


def _bandwidth(point: str, times_us: Sequence[Sequence[float]]) -> list[list[float]]:
    size = int(point.partition(":")[2])
    return [[size / us for us in samples] for samples in times_us]


def window(bench: Bench) -> list[Case]:
    """Between a staying and a joining process, on both communicators that connect them."""
    ways = {"new_comm_world": "new", "intercomm": "inter"}
    variants = {"launched": _variant(bench.ours, 2, BANDWIDTH, arguments=("--adapt", 0))}
    for name, way in ways.items():
        variants[name] = _variant(
            bench.ours, 1, BANDWIDTH, schedule="2", arguments=("--adapt", 1, "--window", way)
        )
    rounds = Rounds.measure(variants, bench.amount.pick(10, 40, 90), bench.progress, least=5)
    return [
        ratio_case(
            "window", f"{name}, {point}", _bandwidth(point, rounds.of(name, point)),
            _bandwidth(point, rounds.of("launched", point)), "MB/s", rounds.others, rounds.note(),
        )
        for name in ways
        for point in BANDWIDTH
    ]  # fmt: skip


def spawned(bench: Bench) -> list[Case]:
    """Between two processes of one host, of which one has started the other."""
    rounds = Rounds.measure(
        {
            "launched": _variant(bench.ours, 2, APART),
            "spawned": _variant(bench.ours, 1, APART, arguments=("--apart", "spawn")),
        },
        bench.amount.pick(10, 30, 90), bench.progress, least=5,
    )  # fmt: skip
    return rounds.compare("processes", "spawned", "launched", "spawned, ")


def joined(bench: Bench) -> list[Case]:
    """Between two processes of one host, of which one has joined through process sets."""
    variants = {}
    for level, threads in (("", ()), (" for threads", ("--threads",))):  # each call takes a lock
        variants["launched" + level] = _variant(bench.ours, 2, APART, arguments=threads)
        variants["joined" + level] = _variant(
            bench.ours, 1, APART, schedule="2", arguments=("--apart", "join", *threads)
        )
    rounds = Rounds.measure(variants, bench.amount.pick(15, 60, 180), bench.progress, least=5)
    return [
        *rounds.compare("processes_joined", "joined", "launched"),
        *rounds.compare("processes_joined", "joined for threads", "launched for threads", "threads, "),
    ]  # fmt: skip


def oversubscribed(bench: Bench) -> list[Case]:
    """Few rounds: stock needs seconds to launch, and a fifth of a second for a barrier of 32."""
    stock = bench.need_stock()
    points = ("barrier", "allreduce:8")
    cases = []
    for processes in bench.amount.pick((8,), (8, 16), (8, 16, 32)):
        arguments = ("--spread", "--ms", 50)
        rounds = Rounds.measure(
            {
                "ours": _variant(bench.ours, processes, points, arguments=arguments, deadline_s=300),
                "stock": _variant(stock, processes, points, arguments=arguments, deadline_s=300),
            },
            bench.amount.pick(15, 30, 60), bench.progress, least=2, most=10,
        )  # fmt: skip
        cases += [
            case
            for case in rounds.compare("oversubscribed", "ours", "stock", f"{processes} processes, ")
            if not case.name.endswith("init")
        ]
    return cases


def oversubscribed_launch(bench: Bench) -> list[Case]:
    stock = bench.need_stock()
    processes = 16
    rounds = Rounds.measure(
        {
            "ours": _start_variant(bench.ours, processes, 300),
            "stock": _start_variant(stock, processes, 300),
        },
        bench.amount.pick(20, 40, 90), bench.progress, least=2, most=10,
    )  # fmt: skip
    return rounds.compare("oversubscribed_launch", "ours", "stock", f"{processes} processes, ")
