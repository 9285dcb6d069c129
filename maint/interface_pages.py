"""One manual page for each header with names of other interfaces and of the driver epop: its declarations with their comments,
in the order of the header.  Each function and type has a page of its own that refers to it.  maint/make-man writes them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from header_pages import comment_before, prose
from language_pages import code, cxx_body

Text = Callable[[str], str]


@dataclass
class Header:
    path: str
    page: str
    summary: str
    link: str
    see: str


HEADERS = (
    Header("src/epop/epop.h", "epop", "Programs that are written as phases", "Link with -lepop -ladapt_data, or start it by the command epop (1).",
           "epop_window_t"),
    Header("src/include/mpi_epop.h", "mpi_epop", "Report in which of its loops a program is", "The functions are in libmpi.", "epop"),
    Header("src/include/mpi_session_dyn.h", "mpi_session_dyn", "Changes of process sets with the names of the working group",
           "No library is needed.", "MPIX_Session_pset_op"),
    Header("src/include/mpidynres.h", "mpidynres", "Changes of process sets with the names of libmpidynres", "No library is needed.",
           "MPIX_Session_rc_get"),
    Header("src/include/mpidynres_sim.h", "mpidynres_sim", "Begin of programs for libmpidynres", "No library is needed.", "mpidynres"),
    Header("src/include/mpe_dynamic.h", "mpe_dynamic", "Dynamic processes with the names of Gropp and Lusk", "No library is needed.",
           "MPIX_Spawn"),
    Header("src/adapt_data/adapt_stub.h", "adapt_stub", "The operations of adaptations for another MPI", "Link with -ladapt_data.", "MPIX_Adapt"),
)  # fmt: skip
SKIPPED = re.compile(r"^(?:#(?!define)|extern \"C\"|\}|$)")
GUARD = re.compile(r"\w+_INCLUDED$|epop_archive_abi$|MPIX_T_EPOP_PUBLIC$|MPIDYNRES_H$|MPIDYNRES_SIM_H$|MPI_SESSION_DYN_H$|\w*_$|main$|adapt_stub_\w+$")


@dataclass
class Declaration:
    text: str
    names: list[str]
    kind: str  # macro, type, enum, function, variable
    at: int


def end_of(text: str, at: int) -> tuple[int, int]:
    """Where the declaration at `at` ends, and where the next one can begin: the body of a function is left out."""
    depth, end = 0, at
    while end < len(text):
        if text.startswith("/*", end):
            end = text.index("*/", end) + 2
            continue
        if text[end] == "{" and depth == 0 and re.search(r"\)\s*$", text[at:end]):
            return end, text.index("\n}", end) + 2
        depth += (text[end] in "{(") - (text[end] in "})")
        end += 1
        if text[end - 1] == ";" and depth == 0:
            return end, end
    raise SystemExit(f"maint/interface_pages.py finds no end of {text[at:at + 60]!r}")


def names_of(declaration: str) -> tuple[str, list[str]]:
    plain = re.sub(r"/\*.*?\*/", "", declaration, flags=re.DOTALL)
    plain = re.sub(r"__attribute__ ?\(\(.*?\)\)(?=[\s;])", "", plain, flags=re.DOTALL)
    if plain.startswith("#define"):
        return "macro", re.findall(r"^#define (\w+)", plain)
    if plain.startswith("typedef"):
        return "type", re.findall(r"(\w+)\s*(?:\(.*\)\s*|\[\w+\])?;$", plain, re.DOTALL)[-1:]
    if match := re.match(r"enum\b\s*(\w*)\s*\{(.*)\}", plain, re.DOTALL):
        return "enum", [name for name in [match[1], *re.findall(r"(\w+)(?: = \w+)?\s*(?:,|$)", match[2])] if name]
    if match := re.match(r"struct (\w+) \{", plain):
        return "type", [match[1]]
    if match := re.search(r"(\w+)\s*\(", plain):
        return "function", [match[1]]
    return "variable", re.findall(r"(\w+)(?: = \w+)?\s*;$", plain)


def without_internal(text: str) -> str:
    return re.sub(r"/\* ---- internal.*?(?=/\* ---- )", "", text, flags=re.DOTALL)


def declarations(text: str) -> Iterator[Declaration]:
    """Those at the outermost level, but for internal ones."""
    text = without_internal(text)
    at = 0
    while at < len(text):
        line_end = text.find("\n", at)
        line = text[at:line_end]
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
        elif line.startswith("#define"):
            while text[line_end - 1] == "\\":
                line_end = text.find("\n", line_end + 1)
            yield Declaration(text[at:line_end].split("  /*")[0], names_of(line)[1], "macro", at)
            at = line_end
        elif SKIPPED.match(line) or not re.match(r"\w", line):
            at = line_end + 1
        else:
            end, following = end_of(text, at)
            before = re.compile(r"(?:(?:__attribute__ ?\(\(\w+\)\) )?static inline|MPIX_T_EPOP_PUBLIC) ")
            indent = len(taken[0]) if (taken := before.match(text[at:end])) else 0
            declared = text[at + indent : end].rstrip().replace("\n" + " " * indent, "\n")
            kind, names = names_of(declared)
            yield Declaration(declared + (";" if following > end else ""), names, kind, at)
            at = following


def opening(text: str, troff: Text, literal: Text) -> list[str]:
    """The comment at the top; what it indents is code."""
    out: list[str] = []
    clauses = re.compile(r"\s(?:SPEC-\w+ )?[A-Z]{1,2}\d+(?:,?[\s*]+(?:to )?[A-Z]{1,2}\d+)*\.\s*$")
    comment = clauses.sub("", text[2 : text.index("*/")])
    for line in comment.strip().splitlines():
        line = re.sub(r"^\s*\* ?", "", line).rstrip()
        if line.startswith("    "):
            out = [*out[:-1], literal(line), ".fi"] if out and out[-1] == ".fi" else [*out, ".nf", literal(line), ".fi"]
        else:
            out.append(troff(line) if line else ".PP")
    return out


def grouped(found: list[Declaration], text: str) -> Iterator[tuple[list[Declaration], list[str]]]:
    """Declarations that share a comment, and macros in a row, with the lines of their comment."""
    group: list[Declaration] = []
    last = ""
    for each in found:
        comment = comment_before(text, each.at)
        if group and (comment != last or (not comment and "macro" not in {each.kind} & {group[-1].kind})):
            yield group, [line for line in prose(last) if line]
            group = []
        group.append(each)
        last = comment
    if group:
        yield group, [line for line in prose(last) if line]


def header_page(top: Path, header: Header, made: dict[str, str], troff: Text, literal: Text) -> tuple[str, list[str]]:
    """The page, and the names of functions and types."""
    name = header.path.rsplit("/", 1)[1]
    text = (top / header.path).read_text(encoding="utf-8")
    found = [each for each in declarations(text) if each.names and not GUARD.match(each.names[0])]
    listed = list(dict.fromkeys(name for each in found for name in each.names if f"{name}.3" not in made))
    out = [f'.\\" made by maint/make-man from {header.path}', f'.TH {header.page} 3 "" "Elastic MPICH" "MPI"', ".SH NAME"]
    out += [f"{', '.join([header.page, *listed])} \\- {troff(header.summary)}"]
    out += [".SH SYNOPSIS", *code([f"#include <{name}>"], literal), ".PP", troff(header.link), ".SH DESCRIPTION"]
    out += [*opening(text, troff, literal), ".SH DECLARATIONS"]
    for group, comment in grouped(found, without_internal(text)):
        lines = [line for each in group for line in each.text.splitlines()]
        out += [".PP", *code(lines, literal), *map(troff, comment)]
    out += [".SH SEE ALSO", f".BR {header.see} (3)"]
    return "\n".join(out) + "\n", [name for each in found if each.kind in ("function", "type") for name in each.names]


def epop_in_cxx(top: Path, troff: Text, literal: Text) -> str:
    """The page of epop.hpp, whose comments begin with two slashes."""
    text = (top / "src/epop/epop.hpp").read_text(encoding="utf-8")
    text = re.sub(r"(?m)(?:^ *// ?.*\n)+", lambda match: as_c_comment(match[0]), text)
    inner = re.compile(r"^    class phase \{.*?^    \};\n", re.MULTILINE | re.DOTALL)
    nested = [dedent(match) for match in inner.findall(text)]
    text = inner.sub("    class phase;\n", text)
    body = [".SH SYNOPSIS", *code(["#include <epop.hpp>"], literal), ".SH DESCRIPTION"]
    body += [*opening(text, troff, literal), ".SH DECLARATIONS", *cxx_body(text, troff, literal), ".PP", "epop::program::phase:", *cxx_body("\n".join(nested), troff, literal)]
    macro = re.findall(r"^#define (EPOP_PROGRAM\(.*?\))", text, re.MULTILINE)
    body += [".PP", *code(macro, literal), *map(troff, prose(comment_before(text, text.index("#define EPOP_PROGRAM"))))]
    out = ['.\\" made by maint/make-man from src/epop/epop.hpp', '.TH epop.hpp 3 "" "Elastic MPICH" "MPI"', ".SH NAME"]
    out += ["epop.hpp, EPOP_PROGRAM, epop::program \\- Programs that are written as phases, in C++", *body, ".SH SEE ALSO", ".BR epop (3)"]
    return "\n".join(out) + "\n"


def as_c_comment(block: str) -> str:
    indent = re.match(r" *", block)
    lines = [re.sub(r"^ *// ?", "", line) for line in block.splitlines()]
    before = indent[0] if indent else ""
    return f"{before}/* " + f"\n{before} * ".join(lines) + " */\n"


def pages(top: Path, made: dict[str, str], troff: Text, literal: Text) -> dict[str, str]:
    """By file name; `made` are those that names may have already."""
    new = {"epop.hpp.3": epop_in_cxx(top, troff, literal), "EPOP_PROGRAM.3": ".so man3/epop.hpp.3\n"}
    for header in HEADERS:
        new[f"{header.page}.3"], names = header_page(top, header, made, troff, literal)
        for name in names:
            if f"{name}.3" not in made:
                new.setdefault(f"{name}.3", f".so man3/{header.page}.3\n")
    for alias, target in re.findall(r"^#define (MPE_\w+) (MPIX_\w+)$", (top / HEADERS[5].path).read_text(encoding="utf-8"), re.MULTILINE):
        if f"{target}.3" in made:
            new[f"{alias}.3"] = f".so man3/{target}.3\n"
    return new
