"""maint/check-dependencies: configure's reports about parts that are missing or too old."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "maint" / "check-dependencies")
STEPS = ("build", "fortran", "elasticd")

# A compiler without the headers and libraries whose names are in $LACKS (a regular expression).
COMPILER = """#!/bin/bash
if [[ " $* " == *" - "* ]]; then
    text=$(cat)
    [[ ! $text =~ $LACKS ]] || exit 1
    exec g++ "$@" <<<"$text"
fi
[[ ! "$*" =~ $LACKS ]] || exit 1
exec g++ "$@"
"""


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    path = tmp_path / "compiler"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return path


def check(*arguments: str, **variables: str) -> tuple[int, str, str]:
    """The exit code, the checks that were made, and the report."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "FC", "CPPFLAGS")}
    done = subprocess.run([PROGRAM, *arguments], env={**environment, **variables}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_all_parts_are_found_with_their_versions() -> None:
    code, checked, report = check(*STEPS, "check")
    assert (code, report) == (0, "")
    for part in ("C++ compiler", "libfabric", "hwloc", "JSON for Modern C++", "CLI11", "libcurl", "libmicrohttpd",
                 "SQLite", "toml++", "Python", "pytest"):  # fmt: skip
        assert re.search(rf"^checking for {re.escape(part)} [\d.]+\.\.\. \d+(\.\d+)+$", checked, re.M), part
    assert "checking for GoogleTest... yes" in checked


def test_all_missing_parts_are_in_one_report_with_the_names_of_their_packages(compiler: Path) -> None:
    code, checked, report = check(*STEPS, CXX=str(compiler), LACKS=r"hwloc\.h|-lcurl|nlohmann")
    assert code == 1 and "checking for SQLite 3.24... 3." in checked
    for text in ("missing or too old (3):", "hwloc 2.0 or later: not found (<hwloc.h> and -lhwloc)",
                 "libcurl 7.80 or later: not found (<curl/curl.h> and -lcurl)",
                 "Debian libhwloc-dev, Fedora hwloc-devel, SUSE hwloc-devel, Spack hwloc",
                 "apt-get install libhwloc-dev nlohmann-json3-dev libcurl4-openssl-dev",
                 "dnf install hwloc-devel json-devel libcurl-devel",
                 "zypper install hwloc-devel nlohmann_json-devel libcurl-devel",
                 "spack install hwloc nlohmann-json curl"):  # fmt: skip
        assert text in report, report


def test_a_part_that_is_too_old_is_reported_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "hwloc.h").write_text('#define HWLOC_VERSION "1.11.13"\n')
    (tmp_path / "microhttpd.h").write_text("#define MHD_VERSION 0x00097000\n")
    code, _, report = check(*STEPS, "--", f"CPPFLAGS=-I{tmp_path}")
    assert code == 1 and "missing or too old (2):" in report
    assert "hwloc: 1.11.13 found, 2.0 or later needed" in report
    assert "libmicrohttpd: 0.9.70 found, 0.9.71 or later needed" in report


@pytest.mark.parametrize("option, lacks", [
    ("--without-elasticd", r"CLI/CLI|-lcurl|microhttpd|sqlite|toml|zlib"),
    ("--with-libfabric=embedded,verbs", "rdma/fabric"),
    ("--with-hwloc=embedded", r"hwloc\.h"),
])  # fmt: skip
def test_what_is_not_built_needs_nothing(option: str, lacks: str, compiler: Path) -> None:
    assert check(*STEPS, CXX=str(compiler), LACKS=lacks)[0] == 1
    assert check(*STEPS, "--", option, CXX=str(compiler), LACKS=lacks)[0] == 0


def test_mpiexec_needs_json_without_elasticd_too(compiler: Path) -> None:
    code, _, report = check(*STEPS, "--", "--without-elasticd", CXX=str(compiler), LACKS="nlohmann")
    assert code == 1 and "missing or too old (1):" in report and "nlohmann-json3-dev" in report


def test_without_a_compiler_nothing_is_claimed_about_headers() -> None:
    code, checked, report = check(*STEPS, "--", "CXX=no-such-compiler")
    assert code == 1 and "missing or too old (1):" in report and "CXX=no-such-compiler" in report
    assert "checking for hwloc 2.0... unknown, without a C++ compiler" in checked


def test_a_compiler_without_cpp20_is_refused(compiler: Path) -> None:
    code, _, report = check("build", CXX=str(compiler), LACKS=r"c\+\+20 ")
    assert code == 1 and "C++ compiler 11 or later: not found" in report


def test_a_missing_program_and_the_packages_of_it(tmp_path: Path) -> None:
    table = tmp_path / "dependencies"
    table.write_text("build | thing | program no-such-program | 2.0 | thing-dev | thing-devel | thing-devel | thing\n")
    code, checked, report = check("build", DEPENDENCIES=str(table))
    assert code == 1 and checked == "checking for thing 2.0... no\n" and "no program no-such-program" in report


def test_the_manual_has_the_table() -> None:
    table = subprocess.run([PROGRAM, "--table"], capture_output=True, text=True, check=True).stdout
    manual = (ROOT / "doc" / "user" / "install.md").read_text(encoding="utf-8")
    assert len(table.splitlines()) > 20 and table in manual, "copy the output of maint/check-dependencies --table there"
