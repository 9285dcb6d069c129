"""The test list: one line for each test.

    name | clauses | processes | mpiexec options | limits | program arguments

`limits` are words: `full` (only with --full), `load_sensitive` (may fail once on a busy machine, which is reported), `deadline=SECONDS`, `exit=CODE` (or nonzero),
`expect=REGEX` and `error=REGEX` (a line of standard output or error must match; may be repeated,
`expect` replaces the PASS line that follows from the schedule), `lines=none` (the program does
not report JOINED and LEFT), `events=WORDS` (how the adaptations end, in order, from the adapt
log), `file=NAME[:TEXT]` (put into the working directory), `env=NAME:VALUE`, `tool=NAME` (a
profiling tool of programs/ that is loaded before MPI; `around`: between the two libraries for tools that
know no adaptations), `network` (the test runs a second time, as NAME_network, with MPIR_CVAR_NOLOCAL=1: the
processes of a host send to each other over the network), `memory` (with `--network`, which runs all tests so, this one is
left out: it needs processes that share memory), `driver=OPTIONS` (of epop, for programs that are archives), `scenario=NAME[:ARGUMENTS]` (a function of scenarios_*.py drives the test).
In options and arguments {epochs}, {seed}, {draw:LENGTH:LOW:HIGH} (a drawn schedule) and
{repeat:COUNT:ENTRY} (the same entry again and again) are replaced.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import schedule

CLAUSES: tuple[str, ...] = tuple(
    f"{letter}{number}"
    for letter, count in (("I", 5), ("P", 8), ("W", 8), ("C", 9), ("E", 4))
    for number in range(1, count + 1)
) + (
    # of MPI Sessions
    *(f"SX{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)),
    *("SN1", "SN3", "SN5", "SN6", "SN7", "SI1", "SI2", "SI3", "SI4", "SI5", "SI6", "SI7", "SI8", "SI9"),
    *("SR1", "SR2", "SR3", "SR4", "SR6", "SR7", "SR9", "SR10", "SR11", "SJ1", "SJ2", "SL1", "SL2", "SL3", "SL4", "SF1", "SF2", "SF3", "SF4"),
    *("SA2", "SA3", "SM3", "SN2", "SN4", "SO6", "SO9", "SR5", "SR8", "SW1", "SW3"),
    *("SC1", "SC2", "SC3", "SC4", "SC5", "SC6", "SM1", "SM2"),
    *("SO1", "SO2", "SO3", "SO4", "SO5", "SO7", "SO8", "SB1", "SB2", "SD1", "SD2", "SD3", "SA1", "SE1", "ST1", "SW2"),
    # of dynamic process management
    *("DS1", "DS2", "DS3", "DS4", "DS5", "DN1", "DN2", "DN3", "DN4", "DN5", "DN6", "DN7", "DX1", "DX2", "DX3"),
    *("DM1", "DM2", "DM3", "DM4", "DM5", "DM6"),
    *("DC1", "DC2", "DC3"),
) + tuple(
    f"DA{number}"  # of dynamic process management
    for number in range(1, 13)
) + tuple(
    f"EPOP.{letter}{number}"  # of the driver of phases, and of what moves data
    for letter, count in (
        *(("H", 2), ("P", 7), ("E", 4), ("W", 6), ("L", 2), ("M", 5), ("A", 3), ("C", 7)),
        *(("D", 6), ("V", 8), ("X", 3), ("F", 4)),
    )
    for number in range(1, count + 1)
) + ("EPOP.V10",) + (  # V9 is a matter of the unit test AdaptVolume, and of ./run bench --only data
    # of performance data, as far as they are a matter of programs; test/clauses has all
    *(f"PERF.{clause}" for clause in ("S1", "S3", "S4", "S5", "S6", "D9", "D12", "D13", "D14", "V2", "V3", "V4", "V6", "V7")),
    *(f"PERF.{clause}" for clause in ("V8", "B4", "J1", "N4", "N6")),
)
DEADLINE_S = 120.0


class ListError(Exception):
    """A line of the test list that cannot be understood."""


@dataclass
class Test:
    """One line of the list, with the seed applied."""

    __test__ = False  # pytest: not a class of tests

    name: str
    clauses: list[str]
    processes: int
    options: list[str]
    program: str
    arguments: list[str]
    full: bool = False
    load_sensitive: bool = False
    deadline_s: float = DEADLINE_S
    exit_code: str = "0"
    expect: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lines: bool = True
    events: list[str] | None = None
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    tool: str = ""
    around: bool = False
    network: bool = False
    memory: bool = False
    driver: list[str] = field(default_factory=list)
    scenario: str = ""
    changes: list[schedule.Change] = field(default_factory=list)

    @property
    def final_size(self) -> int:
        return self.changes[-1].size if self.changes else self.processes


def _limit(test: Test, word: str) -> None:
    key, _, value = word.partition("=")
    if key == "full":
        test.full = True
    elif key == "deadline":
        test.deadline_s = float(value)
    elif key == "exit":
        test.exit_code = value
    elif key == "expect":
        test.expect.append(value)
    elif key == "error":
        test.errors.append(value)
    elif key == "lines" and value == "none":
        test.lines = False
    elif key == "events":
        test.events = value.split()
    elif key == "file":
        name, _, text = value.partition(":")
        test.files[name] = text.replace("\\n", "\n")
    elif key == "env":
        name, _, text = value.partition(":")
        test.environment[name] = text
    elif key == "tool":
        test.tool = value
    elif key == "around":
        test.around = True
    elif key == "load_sensitive":
        test.load_sensitive = True
    elif key == "network":
        test.network = True
    elif key == "memory":
        test.memory = True
    elif key == "driver":
        test.driver = value.split()
    elif key == "scenario":
        test.scenario = value
    else:
        raise ListError(f"'{word}' is not a limit")


def _drawn(text: str, test: Test, seed: int) -> str:
    def draw(match: re.Match[str]) -> str:
        length, low, high = (int(part) for part in match.group(1).split(":"))
        return schedule.draw(seed, test.processes, length, low, high)

    def repeat(match: re.Match[str]) -> str:
        return ",".join([match.group(2)] * int(match.group(1)))

    text = re.sub(r"\{draw:([0-9:]+)\}", draw, text)
    text = re.sub(r"\{repeat:(\d+):([^}]*)\}", repeat, text)
    return text.replace("{seed}", str(seed))


def _apply_schedule(test: Test) -> None:
    for option, value in zip(test.options, test.options[1:]):
        if option.lstrip("-") != "adapt-schedule":
            continue
        text = test.files[value[1:]] if value.startswith("@") else value
        test.changes = schedule.parse(text, test.processes)


def _parse_line(line: str, seed: int) -> Test:
    columns = [column.strip() for column in re.split(r"(?<=\s)\|(?=\s)", line)]
    if len(columns) != 6:
        raise ListError(f"{len(columns)} columns, not 6")
    name, clauses, processes, options, limits, command = columns
    words = shlex.split(command)
    test = Test(name, clauses.split(), int(processes), [], words[0], words[1:])
    unknown = [clause for clause in test.clauses if clause not in CLAUSES]
    if unknown:
        raise ListError(f"no clause {unknown[0]}")
    for word in shlex.split(limits):
        _limit(test, word)
    test.options = [_drawn(word, test, seed) for word in shlex.split(options)]
    _apply_schedule(test)
    epochs = str(len(test.changes))
    test.arguments = [
        _drawn(word, test, seed).replace("{epochs}", epochs) for word in test.arguments
    ]
    return test


def _over_network(test: Test) -> Test:
    """The same test, whose processes share no memory."""
    environment = {**test.environment, "MPIR_CVAR_NOLOCAL": "1"}
    return replace(test, name=f"{test.name}_network", environment=environment)


def read(path: Path, seed: int, network: bool = False) -> list[Test]:
    """All tests, in the order of the list; with `network` only those that can be run over the network, and so."""
    tests: list[Test] = []
    names: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            test = _parse_line(line, seed)
            made = [test, _over_network(test)] if test.network else [test]
            if network:
                made = [] if test.memory else [_over_network(test)]
            if twice := names & {one.name for one in made}:
                raise ListError(f"a second test {twice.pop()}")
        except (ListError, ValueError, IndexError, KeyError) as error:
            raise ListError(f"{path.name}, line {number}: {error}") from error
        names.update(one.name for one in made)
        tests += made
    return tests


def uncovered(tests: list[Test]) -> list[str]:
    """The clauses that no test names."""
    covered = {clause for test in tests for clause in test.clauses}
    return [clause for clause in CLAUSES if clause not in covered]
