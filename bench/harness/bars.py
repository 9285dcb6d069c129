"""The bars: what was promised, as numbers.  Each is defined here and nowhere else.

A bar limits a value: a ratio of two medians that were measured side by side, or a time.  `measured`
and `reference` name it.  A bar has many cases (message sizes, kinds of adaptation); it holds if
each of them does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A limit and what it is about."""

    key: str
    title: str
    limit: float
    measured: str
    reference: str
    at_least: bool = False  # the limit is a lower one
    unit: str = ""  # of the value; empty: a ratio
    elsewhere: str = ""  # what others reach, with its source

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def margin(self, value: float) -> float:
        """How far the value lies on the good side: 2 is twice as good as requested, below 1 fails."""
        if value <= 0 or self.limit <= 0:
            return float("inf") if self.holds(value) else 0.0
        return value / self.limit if self.at_least else self.limit / value

    def limit_text(self) -> str:
        return (
            f"{'≥' if self.at_least else '≤'} {self.limit:g}{' ' + self.unit if self.unit else ''}"
        )


_BARS = (
    Bar(
        "stock",
        "without adaptation, as fast as stock MPICH 4.0.2",
        1.02,
        "two processes on a core each: time of a message, a collective, of initialisation",
        "the same program with stock MPICH 4.0.2, built with the same options",
    ),
    Bar(
        "pack",
        "derived datatypes are packed as fast as by stock MPICH 4.0.2",
        1.02,
        "one process: MPI_Pack and MPI_Unpack of vectors, indexed blocks and faces of arrays, of double and int",
        "the same program with stock MPICH 4.0.2, built with the same options",
    ),
    Bar(
        "adapted",
        "an adapted world is as fast as one launched so",
        1.05,
        "a world of two that came to be by adaptations, one core each: messages, collectives, windows",
        "the same program, launched with two processes",
        elsewhere="7.2 for a spawned process in MPICH 4.0.2 (pmodels/mpich issue 6089, 64 KiB)",
    ),
    Bar(
        "processes",
        "processes of one host that were started apart talk as those of a world",
        1.2,
        "a launched process and one that it spawns: messages, collectives, windows",
        "the same program, launched with two processes",
        elsewhere="7.2 for a spawned process in MPICH 4.0.2 (pmodels/mpich issue 6089, 64 KiB)",
    ),
    Bar(
        "processes_joined",
        "so do processes that join through process sets",
        1.05,
        "a launched process and one that joins, both for one thread, or both for all levels: messages, collectives, windows",
        "the same program, launched with two processes for the same level of threads",
    ),
    Bar(
        "process_connect",
        "a named server's client against what MPI has",
        1.1,
        "MPIX_Client_connect and MPIX_Server_connect, until both have returned",
        "MPI_Lookup_name, MPI_Comm_connect and MPI_Comm_accept, in turns in the same run",
    ),
    Bar(
        "process_spawn",
        "MPIX_Spawn against MPI_Comm_spawn_multiple",
        1.02,
        "of one process, until it has returned on all",
        "MPI_Comm_spawn_multiple, in turns in the same run",
    ),
    Bar(
        "task_system",
        "a run of a program on a slot",
        5,
        "true, from MPI_Start to MPIX_STAGE_EXITED",
        "posix_spawn and waitpid of the same, in turns in the same run",
    ),
    Bar(
        "task_spawn",
        "a run of a program on a slot against MPI_Comm_spawn",
        0.1,
        "the same",
        "MPI_Comm_spawn of one process in stock MPICH",
    ),
    Bar(
        "modify_adaptation",
        "MPIX_Comm_modify adds nothing to an adaptation",
        1.1,
        "MPIX_Comm_modify, until it has returned on all",
        "of the same growth by a schedule the time until the joining processes are prepared, and the standstill",
    ),
    Bar(
        "modify_spawn",
        "MPIX_Comm_modify against MPI_Comm_spawn",
        0.5,
        "the same",
        "MPI_Comm_spawn and MPI_Intercomm_merge for the same growth in stock MPICH",
    ),
    Bar(
        "probe",
        "a probe with nothing pending",
        50,
        "mean over 2000 probes, the median of 201 of these, on each process",
        "none: a time",
        unit="ns",
        elsewhere="5 to 110 µs on a small system; 0.53 ms median at 16 to 448 ranks (published iMPI logs)",
    ),
    Bar(
        "probe_flat",
        "a probe costs the same in a large world",
        1.2,
        "the same, in a world of more processes",
        "in a world of one",
    ),
    Bar(
        "standstill",
        "staying processes' standstill",
        6,
        "from the probe that returns TRUE to the end of commit, of the slowest staying process; all compute and are coupled",
        "MPI_Comm_dup of the larger of the two worlds in the same run",
        elsewhere="0.14 to 6.0 s at 16 to 448 ranks (published iMPI logs)",
    ),
    Bar(
        "standstill_spread",
        "staying processes' standstill: how often it takes longer",
        3,
        "p90 of the standstill",
        "its p50",
    ),
    Bar(
        "standstill_busy",
        "staying processes' standstill beside four busy loops",
        2,
        "standstill in units of MPI_Comm_dup, while four processes of somebody else compute",
        "the same without them",
    ),
    Bar(
        "spawn",
        "staying processes' standstill against MPI_Comm_spawn",
        1 / 20,
        "the same",
        "MPI_Comm_spawn and MPI_Intercomm_merge for the same growth in stock MPICH",
    ),
    Bar(
        "data_bytes",
        "libadapt_data sends what changes its owner, and no more",
        1.0,
        "bytes given to MPI_Isend on all processes, an array in blocks",
        "bytes of the elements whose owner changes",
    ),
    Bar(
        "data_hand",
        "libadapt_data against a redistribution by hand",
        1.05,
        "move one registered array in blocks, from barrier to barrier",
        "nonblocking messages of the same overlaps and a copy of what stays, in the same window",
    ),
    Bar(
        "data_root",
        "libadapt_data against gathering and scattering, from four processes on",
        1.0,
        "the same",
        "MPI_Gatherv to rank 0 and MPI_Scatterv from it, in the same window",
    ),
    Bar(
        "data_bandwidth",
        "bandwidth of libadapt_data",
        0.9,
        "an array of a process that leaves, to one that joins; with the agreement",
        "the message alone, in the same window: its time over that",
        at_least=True,
    ),
    Bar(
        "data_alltoallv",
        "bandwidth of libadapt_data against MPI_Alltoallv",
        0.8,
        "an array in blocks, from barrier to barrier, with the agreement",
        "one MPI_Alltoallv of the same bytes in the same window, what stays included: its time over that",
        at_least=True,
    ),
    Bar(
        "data_memory_sum",
        "memory of a process while libadapt_data moves a large array",
        1.2,
        "most resident memory as below, messages of 64 MiB",
        "old part and new part",
    ),
    Bar(
        "data_schedule",
        "what a process sends and receives is computed",
        10,
        "processor time of one process' schedule, 1000000 processes become 1250000",
        "none: a time",
        unit="ms",
    ),
    Bar(
        "data_memory",
        "memory of a process while libadapt_data moves",
        1.0,
        "most resident memory beside what was there before but the old part, without MPI's shared segments; 32 MiB of each "
        "process, messages of 1 MiB",
        "old part, new part and 8 messages",
    ),
    Bar(
        "mark",
        "a program of phases reports its position",
        5,
        "mean over 20000 marks, the median of 201 of these, on each process; measuring switched off",
        "none: a time",
        unit="ns",
    ),
    Bar(
        "epop_time",
        "a program of phases against the same by hand",
        1.02,
        "run time under the driver epop",
        "run time of the same iterations with a loop and a window of its own",
        elsewhere="indistinguishable (Comprés 2017, ch. 14)",
    ),
    Bar(
        "epop_share",
        "what is measured of a program of phases, and of the same by hand",
        1.05,
        "time in MPI for time outside, of the one",
        "the same of the other",
    ),
    Bar(
        "law_efficiency",
        "a program whose MPI time is below 0.1 of its computing time is efficient",
        0.9,
        "efficiency with 9, 16, 25 or 36 processes that sleep by a law as Cannon's, where that is measured",
        "with 4",
        at_least=True,
        elsewhere="falls where that is above 0.1 (Comprés 2017, fig. 10.6, 14.2)",
    ),
    Bar(
        "law_order",
        "more MPI time is less efficiency",
        1,
        "part of all pairs of these sizes of which that holds, as measured",
        "none: a share",
        at_least=True,
    ),
    Bar(
        "law_share",
        "MPI time is measured as it is",
        1.05,
        "MPI time by computing time, of the same programs, as measured",
        "as the law predicts, and the other way round",
    ),
    Bar(
        "trace_mpi",
        "Gaussian elimination is never below the threshold",
        0.1,
        "MPI time by computing time of examples/gauss in small systems, as measured",
        "none: a share",
        at_least=True,
        elsewhere="never below 0.1 (Comprés 2017, fig. 14.6)",
    ),
    Bar(
        "trace_ratio",
        "and that is what a trace of its calls shows",
        0.95,
        "MPI time by computing time of examples/gauss, as measured",
        "in the same run by the time around each call in the program",
        at_least=True,
        elsewhere="below a trace's (Comprés 2017, fig. 14.6)",
    ),
    Bar(
        "trace_inner",
        "which the calls of the loop itself would not be",
        0.95,
        "the same, without what is spent in the loops inside",
        "as before",
    ),
    Bar(
        "session_queries",
        "a process polls for a change, or a text, and there is none",
        50,
        "mean over 2000 calls, the median of 101 of these, on each of two processes",
        "none: a time",
        unit="ns",
    ),
    Bar(
        "session_lookups",
        "a set is queried once more",
        1000,
        "mean over 2000 calls on 100 sets in turn, the median of 101 of these, on each of two processes",
        "none: a time",
        unit="ns",
    ),
    Bar(
        "session_start",
        "a session's world is there as soon as that of MPI_Init",
        1.05,
        "two processes: session for one thread, group and communicator of all",
        "MPI_Init",
        elsewhere="1.2 (seed of the Sessions evaluation)",
    ),
    Bar(
        "session_world",
        "it is as fast",
        1.02,
        "messages, rings of 8 bytes and MPI_Comm_dup on it; messages also of two of 16 processes",
        "the same on MPI_COMM_WORLD",
    ),
    Bar(
        "session_collectives",
        "so are its collectives",
        1.05,
        "allreduces of 8 bytes",
        "the same on MPI_COMM_WORLD",
    ),
    Bar(
        "session_component",
        "a component with a session of its own slows nobody down",
        1.02,
        "two processes: the same on MPI_COMM_WORLD, where a component has opened a session and a communicator of its own",
        "the same without that",
        elsewhere="1.03 (seed of the Sessions evaluation)",
    ),
    Bar(
        "session_stock",
        "a session's world is as fast as that of stock's MPI_Init",
        1.02,
        "two processes: messages, rings of 8 bytes and MPI_Comm_dup on it",
        "the same program with MPI_Init of stock MPICH 4.0.2",
    ),
    Bar(
        "session_stock_start",
        "and there as soon; its collectives",
        1.05,
        "two processes: session for one thread, group and communicator of all; allreduces of 8 bytes",
        "the same program with MPI_Init of stock MPICH 4.0.2",
    ),
    Bar(
        "session_create",
        "a communicator from a group",
        1.05,
        "MPI_Comm_create_from_group of two processes, and its end",
        "the same program with stock MPICH 4.0.2",
    ),
    Bar(
        "session_change",
        "a change through process sets",
        1.2,
        "from the step of its notification to the new communicator, of the slowest process that stays",
        "standstill of the same adaptation in a window",
    ),
    Bar(
        "session_change_met",
        "a change through process sets, beside a window that its processes wait for as well",
        1.2,
        "from the step of its notification to the new communicator, of the slowest process that stays",
        "standstill of the same growth in a window, and the first barrier of its world",
    ),
    Bar(
        "session_told",
        "a change through process sets is notified as soon as its processes can be there",
        1.2,
        "from the request for one process more until the program is notified of it",
        "a plain mpiexec of one process, until that has initialised MPI",
    ),
    Bar(
        "session_memory",
        "a process that stays over many changes keeps little of those that have ended",
        128,
        "bytes of its heap for each process that was added, over 1,000 changes but the first 32 (--quick: 96)",
        "none: bytes",
        unit="B",
    ),
    Bar(
        "hosts",
        "staying processes' standstill over two hosts",
        6,
        "the same, on two hosts (network namespaces, ssh launch, tcp provider)",
        "MPI_Comm_dup of the larger of the two worlds in the same run",
    ),
    Bar(
        "undisturbed",
        "staying processes compute on while joining processes start",
        0.95,
        "units of work per second on a core of its own, from the request to the offer",
        "the same loop while a plain mpiexec starts as many processes on the same other cores",
        at_least=True,
    ),
    Bar(
        "offered",
        "time from `elastic resize` to the offer",
        1.2,
        "from the start of `elastic resize` to the probe that returns TRUE; the staying process sleeps",
        "from the start of a plain mpiexec to the last process' end of initialisation",
    ),
    Bar(
        "endurance",
        "many adaptations: standstill",
        1.1,
        "standstill of the last tenth of the adaptations",
        "standstill of the first tenth",
    ),
    Bar(
        "flat",
        "many adaptations: nothing grows",
        1.02,
        "memory, descriptors, mappings, shared segments of rank 0, at the end",
        "the same after a tenth of the adaptations",
    ),
    Bar(
        "window",
        "redistribution bandwidth in the window",
        0.9,
        "64 messages in flight from a staying to a joining process, in the window",
        "the same between two processes of a launched world",
        at_least=True,
    ),
    Bar(
        "oversubscribed",
        "collectives of more processes than cores",
        1 / 20,
        "barrier and allreduce of 8, 16 and 32 processes, free to move among the cores",
        "the same program with stock MPICH 4.0.2",
    ),
    Bar(
        "oversubscribed_launch",
        "launch of more processes than cores",
        1 / 3,
        "mpiexec of 16 processes that initialise and finalise",
        "the same program with stock MPICH 4.0.2",
    ),
    Bar(
        "reports",
        "what a growth costs mpiexec grows with its processes, and no faster",
        1.25,
        "processor time of the step manager's core, and of mpiexec with real proxies, for each process when a job doubles to"
        " 10,000 or 20,000 on 400 proxies",
        "the same with 5,000",
    ),
    Bar(
        "graph_step",
        "a measured call along a known way",
        30,
        "a step of the graph of 128 sites",
        "none: a time",
        unit="ns",
        elsewhere="700 ns at 8 sites to 10 µs at 1024 (Comprés 2017, fig. 13.2)",
    ),
    Bar(
        "graph_flat",
        "a known way costs the same in a large graph",
        2,
        "a step in a graph of 1024 sites",
        "in one of 8",
    ),
    Bar(
        "graph_change",
        "a measured call along a new way",
        10,
        "a step of the graph of 1024 sites that changes it",
        "none: a time",
        unit="µs",
        elsewhere="10 µs (Comprés 2017, fig. 13.2)",
    ),
    Bar(
        "graph_pack",
        "the graph is packed, written, read and collapsed",
        100,
        "each, of 1024 sites",
        "none: a time",
        unit="µs",
        elsewhere="100 µs (Comprés 2017, fig. 13.2)",
    ),
    Bar(
        "graph_linear",
        "and that in proportion to its sites",
        128 * 1.5,
        "each, of 1024 sites",
        "of 8",
    ),
    Bar(
        "graph_reduce",
        "a node's processes are put together",
        5000,
        "128 processes of 1024 sites, no graph like the one before",
        "none: a time",
        unit="µs",
        elsewhere="500 µs for one (Comprés 2017, fig. 13.2)",
    ),
    Bar(
        "graph_processes",
        "and that in proportion to the processes",
        1.1,
        "time for each process, of 128",
        "of 2",
        elsewhere="grows with processes (Comprés 2017, fig. 13.3)",
    ),
    Bar(
        "graph_homogeneous",
        "equal graphs are compared, and their numbers summed",
        1,
        "128 processes of 1024 sites, all graphs the same",
        "twice one process, and the time of reading the others",
    ),
    Bar(
        "graph_processes_many",
        "measuring costs a process the same beside many",
        1.1,
        "a step of the graph, and collapsing it, of 128 sites in each of 128 processes at once; processor time",
        "in each of two",
        elsewhere="does not grow with processes (Comprés 2017, fig. 13.3)",
    ),
    Bar(
        "measured_writes",
        "loops are written down at most once in an interval",
        1,
        "how often a process writes its loops to the board, in each second",
        "none: a rate; that it is no system call is tested (probe_nothing_written)",
        unit="a second",
        elsewhere="a timer of 60 s (Comprés 2017, ch. 13)",
    ),
    Bar(
        "measured_known",
        "a program whose loops are known is as fast as one that is not measured",
        1.01,
        "an adaptive program of two processes that probes",
        "the same with MPIR_CVAR_ADAPT_MEASURE=0",
        elsewhere="not measurable (Comprés 2017, fig. 13.4)",
    ),
    Bar(
        "measured_small",
        "a call that is measured, of 16 bytes",
        1.25,
        "MPI_Send and MPI_Bcast from 32 sites, all calls measured",
        "the same with MPIR_CVAR_ADAPT_MEASURE=0",
        elsewhere="visible up to 4096 bytes at 16 processes (Comprés 2017, fig. 13.4)",
    ),
    Bar(
        "measured_large",
        "a call that is measured, from 8 KiB on",
        1.02,
        "the same",
        "the same",
    ),
)

BARS = {bar.key: bar for bar in _BARS}
