"""Each public name of each header of ours that is installed has a manual page, and each page equals the output of
maint/make-man."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "doc" / "man" / "man3"
# what a name ends in that is not for programs, and helpers of macros
INTERNAL = re.compile(r"_$|_INCLUDED$|_H$|^MPIX_COLUMNS_\w+$|^MPIX_ADAPT_(NTH|BYTES|SHARE_\d+)$|^MPIX_T_EPOP_PUBLIC$|^adapt_stub_|^main$")
# includes other headers and declares nothing
INCLUDES_ONLY = "mpi_dyn_names.h"
NO_PAGE = {"epop_archive_abi", "MPIX_Adapt_shared", "sizeof", "enum"}


def installed_headers() -> list[Path]:
    """Those of the Makefiles' lists."""
    found: list[Path] = []
    for makefile in ("src/adapt_data/Makefile", "src/epop/Makefile"):
        text = (ROOT / makefile).read_text(encoding="utf-8").replace("\\\n", " ")
        listed = re.search(r"^PUBLIC = (.*)$", text, re.MULTILINE)
        assert listed, makefile
        found += [ROOT / makefile / ".." / name for name in listed[1].split()]
    for path in sorted((ROOT / "src" / "mpi").glob("*/Makefile.mk")):
        for line in re.findall(r"^include_HEADERS \+= (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            found += [ROOT / name for name in line.split() if Path(name).name != INCLUDES_ONLY]
    return [path.resolve() for path in found]


def names_in_c(text: str) -> set[str]:
    """Macros, and declarations at the outermost level, with members of enumerations."""
    text = re.sub(r"/\* ---- internal.*?(?=/\* ---- )", "", text, flags=re.DOTALL)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL).replace("\\\n", " ")
    names = set(re.findall(r"^ *# *define (\w+)", text, re.MULTILINE))
    text = re.sub(r'^ *#[^\n]*|extern "C" \{|__attribute__ ?\(\(.*?\)\)(?=[\s;])', "", text, flags=re.MULTILINE)
    for members in re.findall(r"\benum\b[^{;]*\{(.*?)\}", text, re.DOTALL):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", members))
    outer, depth = "", 0
    for character in text:
        depth -= character == "}"
        outer += character if depth == 0 else ""
        depth += character == "{"
    for declared in re.split(r";|\{\}(?!\s*\*?\w+;)", outer.replace("{", "{}").replace("}}", "}")):
        pointer = re.search(r"typedef.*\(\*(\w+)\)\s*\(", declared, re.DOTALL)
        function = re.search(r"(\w+)\s*\(", declared)
        last = re.search(r"(\w+)\s*(?:\[\w*\])?$", declared.strip())
        names |= {match[1] for match in [pointer or function or last] if match}
    return {name for name in names if not INTERNAL.search(name)} - NO_PAGE


def names_in_cxx(text: str) -> set[str]:
    """Classes and functions of the namespace, without those of its namespace detail."""
    text = re.sub(r"^namespace detail \{.*?^\} +// namespace detail$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return set(re.findall(r"^(?!#|namespace|static_assert|using)(?:template <.*>\s)?[a-z][^(={;\n]*?(\w+)(?:\(| \{)", text, re.MULTILINE))


def listed_names() -> dict[str, str]:
    """The names that pages have in their line NAME, with the file."""
    found: dict[str, str] = {}
    for path in PAGES.glob("*.3"):
        if line := re.search(r"^\.SH NAME\n(.*?) \\-", path.read_text(encoding="utf-8"), re.MULTILINE):
            found |= {name: path.name for name in line[1].split(", ")}
    return found


def test_pages_are_up_to_date() -> None:
    done = subprocess.run(["/usr/bin/python3", ROOT / "maint" / "make-man", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_installed_headers_are_found() -> None:
    names = {path.name for path in installed_headers()}
    assert {"adapt_data.h", "adapt_stub.h", "epop.h", "epop.hpp", "mpi_epop.h", "mpidynres.h", "mpe_dynamic.h"} <= names
    assert all(path.is_file() for path in installed_headers())


@pytest.mark.parametrize("header", installed_headers(), ids=lambda path: path.name)
def test_each_name_of_a_header_has_a_page(header: Path) -> None:
    text = header.read_text(encoding="utf-8")
    if header.suffix == ".hpp":
        page = (PAGES / ("epop.hpp.3" if header.name == "epop.hpp" else "elastic.3")).read_text(encoding="utf-8")
        missing = {name for name in names_in_cxx(text) if not re.search(rf"\b{name}\b", page)}
        assert not missing
        return
    names = names_in_c(text)
    assert names, f"no name is found in {header.name}"
    if header.name == "mpi_adapt.h":  # constants of mpi.h: the pages of the functions that use them describe them
        described = "\n".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.3"))
        missing = {name for name in names if not re.search(rf"\b{name}\b", described)}
        assert not missing
        return
    missing = {name for name in names if name not in listed_names() and not (PAGES / f"{name}.3").is_file()}
    assert not missing, f"of {len(names)} names"


def test_pages_that_refer_to_others_name_one_that_is_there() -> None:
    for path in PAGES.glob("*.3"):
        if target := re.match(r"\.so man3/(\S+)\n$", path.read_text(encoding="utf-8")):
            assert (PAGES / target[1]).read_text(encoding="utf-8").startswith('.\\"'), path.name
