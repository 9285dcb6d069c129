"""An installed Elastic MPICH: is it complete, and does it replace Debian's libmpich12?

Each check compiles or runs something in a private folder.  The ABI checks get Debian's packages (libmpich12,
libmpich-dev, mpich) through a private apt, unpack them beside (nothing is installed) and keep them in the user's cache.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "maint"))
from private_apt import AptError, debian_packages  # noqa: E402
from support.checks import Failure, Skip, expect  # noqa: E402

PROGRAMS = ("mpicc", "mpicxx", "mpifort", "mpif77", "mpif90", "mpiexec", "mpirun", "mpiexec.hydra",
            "hydra_pmi_proxy", "mpichversion", "elastic", "elasticd")  # fmt: skip
OPERATIONS = ("MPI_Init_adapt", "MPI_Init_thread_adapt", "MPI_Probe_adapt", "MPI_Comm_adapt_begin",
              "MPI_Comm_adapt_commit", "MPIX_Adapt_sizes")  # fmt: skip
LIBRARIES = {"libmpi": "libmpich", "libmpicxx": "libmpichcxx", "libmpifort": "libmpichfort"}  # ours: Debian's
RUN_LIMIT_S = 120

C_PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(name, &length);
    if (rank == 0)
        printf("sum %d of %d\\n", sum, size);
    MPI_Finalize();
    return 0;
}
"""
CXX_PROGRAM = """#include <mpi.h>
#include <iostream>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        std::cout << "sum " << sum << " of " << size << std::endl;
    MPI_Finalize();
}
"""
FORTRAN_PROGRAM = """      program main
{use}
      implicit none
{include}
      integer rank, nprocs, total, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nprocs, ierror)
      call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, ierror)
      if (rank .eq. 0) write (*, '(A,I0,A,I0)') 'sum ', total, ' of ',
     &  nprocs
      call MPI_FINALIZE(ierror)
      end program
"""
ADAPT_C = """#include <mpi.h>
int main(int argc, char **argv)
{
    int status, pending, staying, leaving, joining;
    MPI_Comm inter, world;
    MPI_Info info;
    if (argc > 1000) {          /* compiled and linked, not called */
        MPI_Comm_adapt_begin(&inter, &world, &staying, &leaving, &joining);
        MPI_Comm_adapt_commit();
        PMPI_Comm_adapt_commit();
    }
    MPI_Init_adapt(&argc, &argv, &status);
    MPI_Probe_adapt(&pending, &status, &info);
    MPI_Finalize();
    return !(pending == MPI_ADAPT_FALSE && status == MPI_ADAPT_STATUS_STAYING && info == MPI_INFO_NULL);
}
"""
ADAPT_FORTRAN = """      program main
{use}
      implicit none
{include}
      integer status, pending, ierror
      {info_type} info
      call MPI_INIT_ADAPT(status, ierror)
      call MPI_PROBE_ADAPT(pending, status, info, ierror)
      call MPI_FINALIZE(ierror)
      if (pending .ne. MPI_ADAPT_FALSE) stop 1
      if (status .ne. MPI_ADAPT_STATUS_STAYING) stop 2
      end program
"""


class Checks:
    """The checks: every method whose name begins with check_ is one, its first line describes it."""

    def __init__(self, prefix: Path, folder: Path):
        self.prefix, self.folder = prefix, folder
        self.environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        self.environment["PATH"] = f"{prefix}/bin:{os.environ['PATH']}"
        self.unpacked: Path | None = None

    def call(self, *command: str, **variables: str) -> str:
        """Standard output of a command; Failure with all of its output if it fails."""
        done = subprocess.run(command, cwd=self.folder, env={**self.environment, **variables}, capture_output=True,
                              text=True, timeout=RUN_LIMIT_S, stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def compile_and_run(self, compiler: str, name: str, text: str, *flags: str) -> None:
        """Compile with one of our wrappers, run with three processes, read the answer."""
        (self.folder / name).write_text(text)
        program = str(self.folder / name) + ".exe"
        self.call(f"{self.prefix}/bin/{compiler}", *flags, "-o", program, name)
        output = self.call(f"{self.prefix}/bin/mpiexec", "-n", "3", program)
        expect(output == "sum 3 of 3\n", f"unexpected output: {output!r}")

    # ------------------------------------------------------------ completeness

    def check_programs(self) -> None:
        """all programs are there"""
        missing = [name for name in PROGRAMS if not os.access(self.prefix / "bin" / name, os.X_OK)]
        expect(not missing, f"missing in {self.prefix}/bin: {' '.join(missing)}")

    def check_administrators_pages(self) -> None:
        """all pages of administrators are there"""
        pages = {page.name for page in (ROOT / "doc" / "admin").glob("*.md")}
        missing = pages - {page.name for page in (self.prefix / "share" / "doc" / "elastic-mpich").glob("*.md")}
        expect(bool(pages) and not missing, f"missing: {' '.join(sorted(missing))}")

    def check_c(self) -> None:
        """mpicc compiles a program that mpiexec runs"""
        self.compile_and_run("mpicc", "c.c", C_PROGRAM)

    def check_cxx(self) -> None:
        """mpicxx compiles a program that mpiexec runs"""
        self.compile_and_run("mpicxx", "cxx.cpp", CXX_PROGRAM)

    def check_mpif77(self) -> None:
        """mpif77 with mpif.h compiles a program that mpiexec runs"""
        self.compile_and_run("mpif77", "f77.f", FORTRAN_PROGRAM.format(use="", include="      include 'mpif.h'"))

    def check_mpif90(self) -> None:
        """mpif90 with use mpi compiles a program that mpiexec runs"""
        self.compile_and_run("mpif90", "f90.f", FORTRAN_PROGRAM.format(use="      use mpi", include=""))

    def check_mpifort(self) -> None:
        """mpifort with use mpi_f08 compiles a program that mpiexec runs"""
        self.compile_and_run("mpifort", "f08.f", FORTRAN_PROGRAM.format(use="      use mpi_f08", include=""))

    def check_adapt_c(self) -> None:
        """the new operations compile in C, and a singleton sees no adaptation (I3)"""
        (self.folder / "adapt.c").write_text(ADAPT_C)
        self.call(f"{self.prefix}/bin/mpicc", "-Wall", "-Werror", "-o", "adapt", "adapt.c")
        self.call(str(self.folder / "adapt"))

    def check_adapt_fortran(self) -> None:
        """the new operations compile in mpif.h, mpi and mpi_f08 (I3)"""
        variants = {"a77.f": ("", "      include 'mpif.h'", "integer"), "a90.f": ("      use mpi", "", "integer"),
                    "a08.f": ("      use mpi_f08", "", "type(MPI_Info)")}  # fmt: skip
        for name, (use, include, info) in variants.items():
            text = ADAPT_FORTRAN.format(use=use, include=include, info_type=info)
            (self.folder / name).write_text(text)
            self.call(f"{self.prefix}/bin/mpifort", "-o", name + ".exe", name)
            self.call(str(self.folder / (name + ".exe")))

    def check_pkg_config(self) -> None:
        """pkg-config gives flags that compile and link"""
        (self.folder / "p.c").write_text(C_PROGRAM)
        flags = self.call("pkg-config", "--cflags", "--libs", "mpich", PKG_CONFIG_PATH=f"{self.prefix}/lib/pkgconfig")
        self.call("gcc", "p.c", "-o", "p", *flags.split())
        output = self.call(f"{self.prefix}/bin/mpiexec", "-n", "3", str(self.folder / "p"),
                           LD_LIBRARY_PATH=f"{self.prefix}/lib")  # fmt: skip
        expect(output == "sum 3 of 3\n", f"unexpected output: {output!r}")

    def check_wrappers(self) -> None:
        """the compiler wrappers name plain compilers and no folder but their own"""
        for name in ("mpicc", "mpicxx", "mpifort"):
            shown = self.call(f"{self.prefix}/bin/{name}", "-show")
            expect("ccache" not in shown, f"{name} -show: {shown}")
            folders = re.findall(r"-(?:I|L|Wl,-rpath -Wl,)(/\S+)", shown)
            alien = [f for f in folders if not f.startswith((str(self.prefix), "/usr/"))]
            expect(not alien, f"{name} -show names {alien}")

    def check_version(self) -> None:
        """mpichversion and mpiexec print the version and the device"""
        expect("4.0.2" in self.call(f"{self.prefix}/bin/mpichversion"), "mpichversion does not report 4.0.2")
        expect("4.0.2" in self.call(f"{self.prefix}/bin/mpiexec", "--version"), "mpiexec --version does not report 4.0.2")

    def check_own_version(self) -> None:
        """library, commands and manual pages have the version of configure.ac"""
        found = re.search(r"^AC_INIT\(\[[^]]*\], \[([^]]*)\]", (ROOT / "configure.ac").read_text(), re.M)
        assert found
        version = found[1]
        expect(f"Elastic-MPICH-{version}" in self.call(f"{self.prefix}/bin/mpichversion"), "mpichversion differs")
        for command in ("elastic", "elasticd"):
            reported = self.call(f"{self.prefix}/bin/{command}", "--version")
            expect(f"{command} {version}" in reported, f"{command} --version prints {reported}")
        page = self.prefix / "share" / "man" / "man1" / "elastic.1"
        expect(f'"Elastic MPICH {version}"' in page.read_text(encoding="utf-8"), "elastic.1 differs")

    def check_refused_options(self) -> None:
        """options of MPICH with which adaptations cannot work are refused before anything is built"""
        for option in ("--with-device=ch3", "--with-device=ch4:ucx", "--enable-thread-cs=per-vci"):
            command = [str(ROOT / "maint" / "build"), "--build-dir", str(self.folder / "b"), "--", "--with-x", option]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            expect(done.returncode != 0 and option in done.stderr, f"maint/build -- {option}: {done.stderr}")
        expect(not (self.folder / "b").exists(), "a build folder was made")
        self.call(str(ROOT / "maint" / "check-options"), "--with-device=ch4:ofi", "--enable-thread-cs=global", "CC=gcc")

    def check_manual(self) -> None:
        """manual pages of the new and of MPICH's operations are there and well-formed"""
        folder = self.prefix / "share" / "man"
        for section, name in [(1, "elastic"), *((3, name) for name in (*OPERATIONS, "MPI_Send"))]:
            path = folder / f"man{section}" / f"{name}.{section}"
            expect(path.is_file(), f"{path} is missing")
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", str(path)], capture_output=True,
                                  text=True, env={**self.environment, "MANPAGER": "cat"}, check=False)  # fmt: skip
            expect(name in done.stdout, f"man {path} shows nothing: {done.stderr}")
            expect(name == "MPI_Send" or not done.stderr, f"man {path}: {done.stderr}")
        self.call(sys.executable, str(ROOT / "maint" / "make-man"), "--check")
        symbols = self.call("nm", "--defined-only", "--extern-only", str(self.prefix / "lib" / "libadapt_data.a"))
        names = {*re.findall(r" [TD] (MPIX_\w+)$", symbols, re.M), "MPIX_Field", "adapt_move", "elastic", "elastic_mpi"}
        without = [name for name in names if not (folder / "man3" / f"{name}.3").is_file()]
        expect(len(names) > 60 and not without, f"of {len(names)} names these have no manual page: {without}")

    def check_modulefile(self) -> None:
        """the environment-module file sets paths that exist"""
        files = list((self.prefix / "share" / "modulefiles" / "elastic-mpich").glob("*"))
        expect(len(files) == 1, f"module files: {files}")
        text = files[0].read_text()
        expect(text.startswith("#%Module") and "@" not in re.sub(r"#.*", "", text), f"{files[0]} is not complete")
        paths = re.findall(r"^(?:prepend-path|setenv)\s+\S+\s+(/[^\s:]+)", text, re.M)
        missing = [path for path in paths if not Path(path).exists()]
        expect(len(paths) >= 6 and not missing, f"{files[0]} names folders that do not exist: {missing}")

    def check_measured_entry_points(self) -> None:
        """a rigid program's calls cost a load and a branch that is not taken beside stock MPICH's code"""
        library = (self.prefix / "lib" / "libmpi.so.12").resolve()
        if os.uname().machine != "x86_64" or "MPIR_Measure_on" not in self.call("nm", str(library)):
            raise Skip("reads the machine code of x86-64, and needs names of hidden symbols")
        code: dict[str, list[str]] = {}
        name = ""
        for line in self.call("objdump", "-d", "--no-show-raw-insn", str(library)).splitlines():
            if match := re.match(r"[0-9a-f]+ <([\w.]+)>:$", line):
                name = match[1]
            elif name.startswith("PMPI") and line.startswith(" "):
                code.setdefault(name, []).append(line.split(":", 1)[1].strip())
        entries = {}
        for name, instructions in code.items():
            if at := [i for i, text in enumerate(instructions) if "<MPIR_Measure_on>" in text]:
                branch = next(text for text in instructions[at[0] + 1 :] if re.match(r"j|call", text))
                entries[name] = len(at), instructions[at[0]].split()[0], branch
        expect(len(entries) > 200 and "PMPI_Send" in entries, f"{len(entries)} entry points are measured: {sorted(entries)[:20]}")
        wrong = {name: entry for name, entry in entries.items()
                 if entry[:2] != (1, "testb") or not re.fullmatch(rf"jne\s+\w+ <{name}\.cold(\+0x\w+)?>", entry[2])}  # fmt: skip
        expect(not wrong, f"{len(wrong)} of {len(entries)} are otherwise: {dict(list(wrong.items())[:5])}")

    def check_profiled_names(self) -> None:
        """the library makes its own calls by PMPI names, so that profiling tools see those of the program alone"""
        library = (self.prefix / "lib" / "libmpi.so.12").resolve()
        called = set(re.findall(r"_JUMP_SLO\w* .* (MPI_[A-Z]\w+)", self.call("readelf", "-W", "--relocs", str(library))))
        # to tools MPI_Init_adapt is MPI_Init_thread; a function that nobody calls names all that ROMIO has
        ours = re.compile(r"MPI_(Init_thread|Finalize|File_\w+|Register_datarep(_c)?)")
        wrong = sorted(name for name in called if not ours.fullmatch(name))
        expect(called and not wrong, f"it calls {wrong or 'nothing'}")

    def check_services_off(self) -> None:
        """services of packages that are installed for tests are neither started nor enabled, others are not concerned"""
        system, printed = self.folder / "system", self.folder / "printed"
        system.mkdir()
        for name in ("invoke-rc.d", "deb-systemd-invoke", "deb-systemd-helper", "update-rc.d"):
            (system / name).write_text(f'#!/bin/sh\necho "${{0##*/}} $*" >>{printed}\n')
            (system / name).chmod(0o755)
        path = f"{ROOT}/maint/services-off:{system}:/usr/bin:/bin"
        wanted = {  # what a package's script calls: what comes of it
            "update-rc.d munge defaults": "update-rc.d munge defaults-disabled",
            "invoke-rc.d munge start": "",
            "invoke-rc.d --skip-systemd-native munge restart": "",
            "deb-systemd-invoke start munge.service": "",
            "deb-systemd-helper --quiet was-enabled munge.service || true": "",
            "deb-systemd-helper update-state munge.service": "deb-systemd-helper update-state munge.service",
            "invoke-rc.d munge stop": "invoke-rc.d munge stop",
            "invoke-rc.d cron start": "invoke-rc.d cron start",
            "deb-systemd-invoke restart cron.service": "deb-systemd-invoke restart cron.service",
        }
        for command, result in wanted.items():
            printed.write_text("")
            self.call("sh", "-c", f"set -e; {command}", PATH=path, ELASTIC_SERVICES_OFF="ssh munge ")
            expect(printed.read_text().strip() == result, f"{command}: {printed.read_text()!r}, not {result!r}")
        enabled = "if deb-systemd-helper --quiet was-enabled munge.service; then echo yes; else echo no; fi"
        expect(self.call("sh", "-c", enabled, PATH=path, ELASTIC_SERVICES_OFF="munge").strip() == "no", "munge is enabled")

    # ------------------------------------------------------------ Debian's libmpich12

    def unpack(self, target: Path, names: tuple[str, ...], version: str) -> Path:
        """Debian's packages, unpacked."""
        try:
            packages = debian_packages(names, version)
        except AptError as error:
            raise Skip(str(error)) from error
        for package in packages:
            self.call("dpkg", "-x", str(package), str(target))
        return target

    def debian(self) -> Path:
        """Debian's MPICH, unpacked."""
        if not self.unpacked:
            self.unpacked = self.unpack(self.folder / "debian", ("libmpich12", "libmpich-dev", "mpich"), "4.0.2")
        return self.unpacked

    def debian_libraries(self) -> Path:
        return next(self.debian().glob("usr/lib/*-linux-gnu"))

    def symbols(self, library: Path) -> dict[str, tuple[str, str]]:
        """Exported symbols: name -> type, and the size of data (programs copy it: it must never change)."""
        result = {}
        for line in self.call("readelf", "--dyn-syms", "-W", str(library)).splitlines():
            words = line.split()
            if len(words) >= 8 and words[6] != "UND" and words[4] in ("GLOBAL", "WEAK"):
                result[words[7].split("@")[0]] = (words[3], words[2] if words[3] == "OBJECT" else "")
        return result

    def check_library_names(self) -> None:
        """the libraries are there under Debian's names too"""
        for ours, theirs in LIBRARIES.items():
            for suffix in (".so", ".so.12"):
                path = self.prefix / "lib" / f"{theirs}{suffix}"
                expect(path.exists(), f"{path} is missing")
                real = (self.prefix / "lib" / f"{ours}.so.12").resolve()
                expect(path.resolve() == real, f"{path} is not {real}")

    def check_exported_symbols(self) -> None:
        """the libraries export all that Debian's export, data with the same size"""
        for ours, theirs in LIBRARIES.items():
            wanted = self.symbols(self.debian_libraries() / f"{theirs}.so.12")
            found = self.symbols(self.prefix / "lib" / f"{ours}.so.12")
            expect(len(wanted) > 10, f"{theirs}.so.12 of Debian: only {len(wanted)} symbols read")
            # MPII_Version_*: texts about how the library was configured, of any length.
            wrong = sorted(name for name, kind in wanted.items()
                           if found.get(name) != kind and not name.startswith("MPII_Version_"))  # fmt: skip
            expect(not wrong, f"{ours}.so.12 lacks or changes {len(wrong)} symbols: {' '.join(wrong[:20])}")

    def check_header(self) -> None:
        """mpi.h defines every constant of Debian's with the same value"""
        (self.folder / "h.c").write_text("#include <mpi.h>\n")

        def defines(folder: Path) -> dict[str, str]:
            text = self.call("gcc", "-dM", "-E", f"-I{folder}", "h.c")
            return dict(re.findall(r"^#define (P?MPIX?_\w+) (.*)$", text, re.M))

        theirs = defines(next(self.debian().glob("usr/include/*/mpich")))
        ours = defines(self.prefix / "include")
        expect(len(theirs) > 250, f"only {len(theirs)} constants read from Debian's mpi.h")
        wrong = sorted(name for name, value in theirs.items() if ours.get(name) != value)
        expect(not wrong, f"mpi.h differs from Debian's in {' '.join(wrong)}")

    def debian_program(self, wrapper: str, name: str, text: str) -> Path:
        """Compile with Debian's own wrapper, with the folder where it has been unpacked."""
        top, libraries = self.debian(), self.debian_libraries()
        script = re.sub(r"^((?:exec_)?prefix|sysconfdir|includedir|libdir|modincdir|moddir)=/", rf"\1={top}/",
                        (top / "usr" / "bin" / f"{wrapper}.mpich").read_text(), flags=re.M)  # fmt: skip
        (self.folder / wrapper).write_text(script)
        (self.folder / wrapper).chmod(0o755)
        (self.folder / name).write_text(text)
        program = self.folder / f"{name}.debian"
        # The dependency of Debian's library itself (libucp) is not unpacked: the linker must not search for it.
        modules = [f"-I{path.parent}" for path in top.glob("usr/lib/*/fortran/*/mpich/mpi.mod")]
        self.call(f"{self.folder}/{wrapper}", *modules, "-o", str(program), name, f"-L{libraries}",
                  "-Wl,--unresolved-symbols=ignore-in-shared-libs")  # fmt: skip
        return program

    def run_debian_program(self, program: Path, wanted: tuple[str, ...]) -> None:
        """It must request Debian's names, get our libraries, and work."""
        needed = self.call("readelf", "-d", str(program))
        for library in wanted:
            expect(f"[{library}]" in needed, f"the program does not need {library}")
        path = f"{self.prefix}/lib"
        found = self.call("ldd", str(program), LD_LIBRARY_PATH=path)
        for library in wanted:
            expect(f"{library} => {path}/" in found, f"{library} is not ours:\n{found}")
        output = self.call(f"{self.prefix}/bin/mpiexec", "-n", "3", str(program), LD_LIBRARY_PATH=path)
        expect(output == "sum 3 of 3\n", f"unexpected output: {output!r}")

    def check_debian_c(self) -> None:
        """a program built by Debian's mpicc runs on our library"""
        self.run_debian_program(self.debian_program("mpicc", "d.c", C_PROGRAM), ("libmpich.so.12",))

    def check_debian_cxx(self) -> None:
        """a program built by Debian's mpicxx runs on our library"""
        self.run_debian_program(self.debian_program("mpicxx", "d.cpp", CXX_PROGRAM), ("libmpich.so.12",))

    def check_debian_fortran(self) -> None:
        """programs built by Debian's mpifort (mpif.h, mpi, mpi_f08) run on our library"""
        for name, use in {"d77.f": "", "d90.f": "      use mpi", "d08.f": "      use mpi_f08"}.items():
            include = "" if use else "      include 'mpif.h'"
            program = self.debian_program("mpifort", name, FORTRAN_PROGRAM.format(use=use, include=include))
            self.run_debian_program(program, ("libmpichfort.so.12",))

    # ------------------------------------------------------------ Debian's eztrace

    def traced(self, arguments: str, *options: str, around: bool) -> tuple[list[Path], str]:
        """The conformance suite's `cycle` under eztrace: traces, and its output."""
        unpacked = self.unpack(self.folder / "eztrace", ("libeztrace0",), "2.0+repack")
        self.unpack(unpacked, ("libopen-trace-format2-10",), "3.0.2")
        tool = next(unpacked.glob("usr/lib/*-linux-gnu"))
        programs, program = ROOT / "test" / "elastic" / "programs", str(self.folder / "cycle")
        sources = [str(programs / name) for name in ("cycle.c", "elastic_test.c")]
        self.call(f"{self.prefix}/bin/mpicc", "-o", program, *sources)
        preload = [tool / "libeztrace-mpich.so"]
        if around:
            lib = self.prefix / "lib"
            preload = [lib / "libelastic_tool_before.so", *preload, lib / "libelastic_tool_after.so"]
        # set for the program alone; every process of an adaptive program writes a trace of its own
        folder = "trace.$$" if around else "trace"
        script = (f"export EZTRACE_TRACE=mpich EZTRACE_TRACE_DIR={folder} LD_LIBRARY_PATH={tool}:{self.prefix}/lib; "
                  f"LD_PRELOAD='{' '.join(map(str, preload))}' exec {program} {arguments}")  # fmt: skip
        work = Path(tempfile.mkdtemp(dir=self.folder))
        done = subprocess.run([f"{self.prefix}/bin/mpiexec", *options, "sh", "-c", script], cwd=work, text=True,
                              env=self.environment, capture_output=True, timeout=RUN_LIMIT_S, check=False)  # fmt: skip
        printed = done.stdout + done.stderr
        expect(done.returncode == 0, f"exit code {done.returncode}\n{printed}")
        return list(work.glob("trace*/*/eztrace_log.otf2")), printed

    def check_eztrace_rigid(self) -> None:
        """Debian's eztrace traces an adaptive program that is not resized"""
        traces, printed = self.traced("--epochs 0", "-n", "2", around=False)
        expect(printed == "PASS epoch=0 size=2\n", f"unexpected output: {printed}")
        expect(len(traces) == 1, f"traces: {traces}")

    def check_eztrace_adaptive(self) -> None:
        """Debian's eztrace traces each process over adaptations, and changes nothing"""
        traces, printed = self.traced("--epochs 3", "-n", "2", "--adapt-schedule", "4,1,3", around=True)
        lines = printed.splitlines()
        unknown = [line for line in lines if not re.match("PASS|JOINED|LEFT", line)]
        expect("PASS epoch=3 size=3" in lines and not unknown, f"unexpected output: {printed}")
        expect(len(traces) == 6, f"6 processes, {len(traces)} traces")


@pytest.fixture(scope="module")
def checks(mpi: Path, tmp_path_factory: pytest.TempPathFactory) -> Checks:
    return Checks(mpi, tmp_path_factory.mktemp("install"))


@pytest.mark.parametrize("name", [name.removeprefix("check_") for name in vars(Checks) if name.startswith("check_")])
@pytest.mark.xdist_group("install")
def test_installation(name: str, checks: Checks) -> None:
    getattr(checks, f"check_{name}")()
