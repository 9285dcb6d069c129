"""The common part of all tests: options, the MPI under test, the rules on skips and flakes, and the closing line.

Rules
- A test that cannot run here has failed, unless test/expected-skips names the test, the condition and the reason.
  Lines whose condition holds, and whose tests were not skipped, are printed.
- A test marked load_sensitive that fails, and passes at once when repeated, is a flake: it is printed, counted and
  written into the JUnit report.  Three flakes fail the run.
- After each test no process that it has started may be left.
- A test that is expected to fail has failed, but for programs of MPICH's suite (test/mpich/wrong-tests.list).
- Each selected test must have a result, or the run has failed.  A test that ends pytest by os._exit(0), or replaces it by
  os.exec*, fails.
- The last line is `N passed, N failed[, N skipped]`.

With several workers (-n 2), each worker of root has a /dev/shm of its own, so that each sees only what its tests leave,
and an empty /proc/kallsyms.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "test"))
sys.path.insert(0, str(ROOT / "test" / "elastic"))
from harness import processes  # noqa: E402
from support.folders import BUILD, PREFIX  # noqa: E402
from support.skips import ExpectedSkips  # noqa: E402

MAX_FLAKES = 2
GRACE_S = float(os.environ.get("ELASTIC_TEST_GRACE_S", "15"))
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x00020000, 0x1000, 0x4000, 1 << 18
FLAKE = "flake"
Config = Any


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("elastic", "Elastic MPICH")
    group.addoption("--mpi", type=Path, default=PREFIX, metavar="PREFIX", help="the installation under test (build/install)")
    group.addoption("--full", action="store_true", help="the long tests as well")
    group.addoption("--compare", action="store_true", help="MPICH's whole suite and Debian's programs as well, beside another MPI")
    group.addoption("--stock", type=Path, default=BUILD / "stock-install", metavar="PREFIX", help="the stock MPICH of --compare")
    group.addoption("--seed", type=int, help="for schedules, pauses and moments of kills that are drawn, and for --random-order")
    group.addoption("--random-order", action="store_true", help="files, and the tests of a file, in an order drawn from --seed")
    group.addoption("--patience", type=float, default=1.0, help="factor on the deadlines of tests (1)")
    group.addoption("--logs", type=Path, default=BUILD / "logs" / "tests", help="where logs of failed tests go")
    group.addoption("--stock-mpiexec", type=Path, help="a launcher without the extension (default: Debian's)")
    group.addoption("--reference", type=Path, metavar="MPIEXEC", help="a stock mpiexec that ours is compared with (test/pm)")
    group.addoption("--network", action="store_true", help="the conformance suite with MPIR_CVAR_NOLOCAL=1: no shared memory between processes")


# ---------------------------------------------------------------- the session


def worker_input(config: Config) -> dict[str, Any] | None:
    """The data that the controller has sent to this worker of pytest-xdist; None in other processes."""
    return getattr(config, "workerinput", None)


def pytest_configure(config: Config) -> None:
    inherited = worker_input(config)
    if inherited is not None:
        config.option.seed = inherited["elastic_seed"]
        separate_mounts()
    elif config.option.seed is None:
        config.option.seed = int.from_bytes(os.urandom(3), "big")
    config.option.mpi = config.option.mpi.resolve()
    processes.become_reaper()
    forbid_end_of_process(config)
    if threading.current_thread() is threading.main_thread():  # a worker may be configured by another thread
        signal.signal(signal.SIGTERM, end_in_order)
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # started in the background of a shell: programs inherit it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # by nohup: it stays ignored here, not in programs
            signal.signal(signal.SIGHUP, lambda *_: None)
    config.stash[SKIPS] = ExpectedSkips.read(ROOT / "test" / "expected-skips")
    config.stash[FLAKES] = []


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    node.workerinput["elastic_seed"] = node.config.option.seed


SKIPS: pytest.StashKey[ExpectedSkips] = pytest.StashKey()
FLAKES: pytest.StashKey[list[str]] = pytest.StashKey()


def forbid_end_of_process(config: Config) -> None:
    """A test fails that would end this process with exit code 0, or replace it; its child processes may do so."""
    own = os.getpid()

    def guarded(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def guard(*args: Any) -> Any:
            if os.getpid() == own and (name != "_exit" or args == (0,)):
                raise RuntimeError(f"os.{name} in the process of pytest: the tests that follow would have no result")
            return call(*args)

        return guard

    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name in ("_exit", "execv", "execve"):  # the other functions os.exec* call these two
        patch.setattr(os, name, guarded(name, getattr(os, name)))


def end_in_order(number: int, _frame: object) -> None:
    """Tests end what they have started before pytest ends."""
    raise KeyboardInterrupt(f"signal {number}")


def separate_mounts() -> None:
    """Mount a /dev/shm for this worker and its children; without the privilege the workers share one.

    Debian's libfabric reads /proc/kallsyms twice in each process, for the name of a driver's function.  That is three
    quarters of the processor time of MPI_Init, so that the file is empty for tests.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        return
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0:
        libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"mode=1777")
        libc.mount(b"/dev/null", b"/proc/kallsyms", None, MS_BIND, None)


def pytest_report_header(config: Config) -> str:
    order = "; random order" if config.option.random_order else ""
    return f"mpi: {config.option.mpi}; seed: {config.option.seed}{order}"


def pytest_collection_modifyitems(config: Config, items: list[pytest.Item]) -> None:
    off = [name for name, wanted in (("slow", config.option.full), ("compare", config.option.compare)) if not wanted]
    unwanted = [item for item in items if any(item.get_closest_marker(name) for name in off)]
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
        items[:] = [item for item in items if not any(item.get_closest_marker(name) for name in off)]
    if config.option.random_order:
        items[:] = drawn_order(items, config.option.seed)


def drawn_order(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """The same order for all workers.  The tests of a file stay together: they share fixtures that start slowly.

    Files of tests over hosts come first: their two workers need longest.
    """
    draw = random.Random(seed)
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = list(files.values())
    draw.shuffle(order)
    order.sort(key=lambda tests: not any(test.get_closest_marker("hosts") for test in tests))
    for tests in order:
        draw.shuffle(tests)
    return [item for tests in order for item in tests]


# ---------------------------------------------------------------- one test


@pytest.fixture(scope="session")
def mpi(pytestconfig: Config) -> Path:
    """The installation under test."""
    prefix: Path = pytestconfig.option.mpi
    if not (prefix / "bin" / "mpiexec").exists():
        pytest.fail(f"there is no {prefix}/bin/mpiexec: run `./run build`, or name an installation by --mpi", pytrace=False)
    return prefix


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """All processes that a test has started end with it; they are found by a variable in their environment."""
    marker = uuid.uuid4().hex
    os.environ[processes.MARKER] = marker
    yield
    del os.environ[processes.MARKER]
    left = processes.await_end_of_processes(marker, GRACE_S)
    processes.kill(left)
    processes.collect_orphans()
    if left:
        pytest.fail("left over: " + "; ".join(str(process) for process in left[:5]), pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if hasattr(report, "wasxfail") and not item.get_closest_marker("mpich"):
        report.outcome = "failed"
        report.longrepr = f"expected to fail, which hides that it does: {report.wasxfail}"
        del report.wasxfail
    elif report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not item.config.stash[SKIPS].allow(item.nodeid, reason):
            report.outcome = "failed"
            report.longrepr = f"cannot run here, and test/expected-skips does not expect that: {reason}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A load_sensitive test has a second run."""
    if not item.get_closest_marker("load_sensitive"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    first = next((report for report in reports if report.failed), None)
    if first:
        item._initrequest()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            for report in reports:
                report.user_properties.append((FLAKE, str(first.longrepr)[-2000:]))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


# ---------------------------------------------------------------- the report


class Closing:
    """Registered in the process that reports; the others are workers."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.broken = False
        self.missing = 0
        self.reported: dict[str, str | None] = {}  # test -> reason of its skip

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.reported.setdefault(report.nodeid, None)
        if report.skipped:
            self.reported[report.nodeid] = str(report.longrepr)
        if report.when == "call" and any(name == FLAKE for name, _ in report.user_properties):
            self.config.stash[FLAKES].append(report.nodeid)
        if report.failed:
            self.name_failure(report)

    def name_failure(self, report: Any) -> None:
        """At once: the summary of a long run comes an hour later."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        crash = getattr(report.longrepr, "reprcrash", None)
        if reporter:
            reporter.ensure_newline()
            reporter.write_line(f"failed: {report.nodeid}" + (f": {crash.message.splitlines()[0]}" if crash else ""), red=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        missing = 0 if self.config.option.collectonly else session.testscollected - len(self.reported)
        if session.exitstatus == 0 and (missing > 0 or len(self.config.stash[FLAKES]) > MAX_FLAKES):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.missing = missing if session.exitstatus != 0 else 0
        # An interrupted run, an internal error, a pattern that matches nothing: not a success.
        self.broken = int(session.exitstatus) not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        flakes = self.config.stash[FLAKES]
        for name in flakes:
            terminalreporter.write_line(f"FLAKE {name}: failed once, passed when repeated")
        for line in self.config.stash[SKIPS].without_effect(self.reported):
            terminalreporter.write_line(f"test/expected-skips: no test of this line was skipped: {line.tests} | {line.condition}")
        if len(flakes) > MAX_FLAKES:
            terminalreporter.write_line(f"{len(flakes)} flakes; at most {MAX_FLAKES} are accepted", red=True)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if not reporter or self.config.option.collectonly:
            return
        count = {name: len(reporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
        failed = count["failed"] + count["error"] + (len(self.config.stash[FLAKES]) > MAX_FLAKES)
        if self.missing > 0:
            print(f"{self.missing} selected tests have no result")
        failed += self.broken or (self.missing > 0 and failed == 0)
        line = f"{count['passed']} passed, {failed} failed"
        print(line + (f", {count['skipped']} skipped" if count["skipped"] else ""), flush=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if worker_input(session.config) is None:
        session.config.pluginmanager.register(Closing(session.config), "elastic-closing")
