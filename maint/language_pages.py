"""Manual pages of libadapt_data beside its C functions: types and macros of C, one page for each public name of the Fortran
module adapt_data, and one page for each of C++ (elastic) and Python (elastic_mpi).  The text is that of the sources; a public
name without a definition is an error.  maint/make-man writes them with its own."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

from header_pages import HEADERS, comment_before, prose

C_TYPE = re.compile(r"^typedef [^;{(]*?(?:\{.*?\n\} ?\*?(\w+);|\*(\w+);|\b(\w+) ?\([^;]*?\);)", re.MULTILINE | re.DOTALL)
C_MACRO = re.compile(
    r"^#define (?:(MPIX_ADAPT_SHARE|MPIX_COLUMN|MPIX_COLUMNS|MPIX_ROW_COLUMNS|MPIX_ROW_LISTS)\(.*?\)"
    r"|(MPIX_ADAPT_DEFAULT|MPIX_ALL_ARRAYS|MPIX_BOX_AXES) .*$)",
    re.MULTILINE,
)
FORTRAN = ("adapt_data.F90", "adapt_base.inc", "adapt_window.inc", "adapt_fields.inc", "adapt_mesh.inc", "adapt_data_part.inc")
CXX = ("elastic.hpp", "elastic_window.hpp", "elastic_data.hpp", "elastic_fields.hpp", "elastic_mesh.hpp")
PYTHON = ("__init__.py", "mesh.py")

Text = Callable[[str], str]


def page(name: str, source: str, summary: str, body: list[str], see: str, troff: Text) -> str:
    """A page of section 3."""
    out = [f'.\\" made by maint/make-man from src/adapt_data/{source}', f'.TH {name} 3 "" "Elastic MPICH" "MPI"', ".SH NAME"]
    out += [f"{name} \\- {troff(summary)}", *body, ".PP", "Link with \\-ladapt_data." if "elastic_mpi" not in name else ""]
    return "\n".join([*filter(None, out), ".SH SEE ALSO", f".BR {see} (3)"]) + "\n"


def code(lines: list[str], literal: Text) -> list[str]:
    return [".nf", *map(literal, lines), ".fi"]


# ---- C -----------------------------------------------------------------------------------------


def c_pages(folder: Path, troff: Text, literal: Text) -> dict[str, str]:
    made = {}
    for header in HEADERS:
        text = (folder / header).read_text(encoding="utf-8")
        for match in [*C_TYPE.finditer(text), *C_MACRO.finditer(text)]:
            name = next(group for group in match.groups() if group)
            is_macro = match[0].startswith("#")
            body = [".SH SYNOPSIS", *code([f"#include <{header}>", "", *match[0].splitlines()], literal)]
            if printed := [line for line in prose(comment_before(text, match.start())) if line]:
                body += [".SH DESCRIPTION", *map(troff, printed)]
            summary = f"{'macro' if is_macro else 'type'} of {header}"
            made[f"{name}.3"] = page(name, header, summary, body, "MPIX_Adapt", troff)
    return made


# ---- Fortran -----------------------------------------------------------------------------------


def fortran_comment(lines: list[str], at: int) -> list[str]:
    """The comment just before a line."""
    first = at
    while first > 0 and lines[first - 1].strip().startswith("! ") and not lines[first - 1].strip().startswith("! ----"):
        first -= 1
    return [line.strip()[2:] for line in lines[first:at]]


def fortran_declaration(lines: list[str], at: int, name: str) -> list[str]:
    """A procedure's first line, with this name, and its arguments, or a whole type."""
    if re.match(r"\s*type.*::", lines[at]):
        end = next(k for k in range(at, len(lines)) if lines[k].strip().startswith("end type"))
        return [line.removeprefix("  ") for line in lines[at : end + 1]]
    body = next(k for k in range(at, len(lines)) if not lines[k].endswith("&")) + 1
    head = "\n".join(lines[at:body])
    named = set(re.findall(r"\w+", head.split("(", 1)[1]))
    taken = re.sub(r"(subroutine|function) \w+", rf"\1 {name}", head, count=1).splitlines()
    for line in lines[body:]:
        if not line.strip() or re.match(r"\s*end ", line):
            break
        if "::" in line and named & set(re.findall(r"\w+", line.split("::")[1])):
            taken.append(re.sub(r"\bTYPE\b", "<type>", line.replace("COLONS", ":, ...")))
    return [line.removeprefix("  ") for line in taken]


def fortran_pages(folder: Path, troff: Text, literal: Text) -> dict[str, str]:
    sources = {name: (folder / name).read_text(encoding="utf-8").splitlines() for name in FORTRAN}
    module = "\n".join(sources[FORTRAN[0]]).split("\nmodule adapt_data\n")[1]
    names = [name for line in re.findall(r"^  public :: (.*)", module, re.MULTILINE) for name in line.split(", ")]

    def find(name: str) -> tuple[str, int] | None:
        definition = re.compile(rf"\s*(?:[a-z_()0-9]+ )?(?:subroutine|function) {name}\(|\s*type(?:, bind\(C\))? :: {name}$")
        return next(((source, k) for source, lines in sources.items() for k, line in enumerate(lines) if definition.match(line)), None)

    made = {}
    for name in names:
        generic = next(((source, k) for source, lines in sources.items() for k, line in enumerate(lines)
                        if line.strip() == f"interface {name}"), None)  # fmt: skip
        found = [found_at for found_at in [find(name)] if found_at]
        printed: list[str] = fortran_comment(sources[found[0][0]], found[0][1]) if found else []
        if generic:
            lines, k = sources[generic[0]], generic[1]
            procedures = lines[k + 1].split("module procedure ")[1].split(", ")
            found += [found_at for found_at in map(find, procedures) if found_at]
            printed += fortran_comment(lines, k) or [line for found_at in found[:1] for line in fortran_comment(sources[found_at[0]], found_at[1])]
        if not found:
            raise SystemExit(f"maint/language_pages.py finds no definition of {name}, public in module adapt_data")
        synopsis = [line for source, k in found for line in ["", *fortran_declaration(sources[source], k, name)]]
        body = [".SH SYNOPSIS", *code(["use adapt_data", *synopsis], literal)]
        body += [".SH DESCRIPTION", *map(troff, printed)] if printed else []
        body += [".PP", "ierror is an MPI error class, 0 for none; adapt_message(text) returns the text."] if "ierror" in str(synopsis) else []
        made[f"{name}.3"] = page(name, found[0][0], "of the Fortran module adapt_data", body, "MPIX_Adapt", troff)
    return made


# ---- C++ ---------------------------------------------------------------------------------------


def without_bodies(text: str) -> str:
    """A class with its public declarations, but not what is in their braces."""
    out, depth, comment = [], 0, False
    for k, character in enumerate(text):
        comment = (comment or text.startswith("/*", k)) and not text.startswith("*/", k - 2)
        depth += 0 if comment else (character == "{") - (character == "}")
        if depth < 2:
            out.append(";" if character == "}" and depth == 1 and not comment else character)
    declared = re.split(r"\n *private:", "".join(out))[0]
    return re.sub(r"\s*\n\s*;", ";", re.sub(r"\n\n+", "\n", declared)).removesuffix("}") + "\n}"


def cxx_body(text: str, troff: Text, literal: Text) -> list[str]:
    """The public declarations of a header with their comments."""
    body: list[str] = []
    begin = re.compile(r"^(?:template <[^\n]*?>[ \n])?(?:(?:inline |struct |class |bool |void |using |enum class )[^\n]*)", re.MULTILINE)
    public = re.sub(r"^namespace detail \{.*?^\} +// namespace detail$", "", text, flags=re.MULTILINE | re.DOTALL)
    for match in begin.finditer(public):
        end = public.find("\n}", match.start())
        whole = public[match.start() : end + 2]
        head = match[0].split(">")[-1] if "template" in match[0] else match[0]
        if re.match(r"class \w+;", head):
            continue  # defined elsewhere
        shown = without_bodies(whole) if re.search(r"\b(class|struct) \w+", head) else re.split(r"\n\{|\s\{|;", whole)[0]
        printed = [line for line in prose(comment_before(public, match.start())) if line]
        body += [".PP", *code(shown.splitlines(), literal), *map(troff, printed)]
    return body


def cxx_pages(folder: Path, troff: Text, literal: Text) -> dict[str, str]:
    body: list[str] = []
    for header in CXX:
        text = (folder / header).read_text(encoding="utf-8")
        if "which includes this file" not in text.partition("*/")[0]:
            body += [f".SH {header.upper()}", *code([f"#include <{header}>"], literal)]
        body += cxx_body(text, troff, literal)
    return {"elastic.3": page("elastic", CXX[0], "C++ form of libadapt_data", body, "MPIX_Adapt", troff)}


# ---- Python ------------------------------------------------------------------------------------


def python_pages(folder: Path, troff: Text, literal: Text) -> dict[str, str]:
    body: list[str] = []
    for source in PYTHON:
        tree = ast.parse((folder / "elastic_mpi" / source).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                body += described(node, f"elastic_mpi.{node.name}", troff)
    body = [".SH SYNOPSIS", *code(["import elastic_mpi"], literal), ".SH DESCRIPTION", *body]
    return {"elastic_mpi.3": page("elastic_mpi", "elastic_mpi/", "Python form of libadapt_data", body, "MPIX_Adapt", troff)}


def described(node: ast.FunctionDef | ast.ClassDef, name: str, troff: Text) -> list[str]:
    functions = [each for each in node.body if isinstance(each, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
    initial = next((each for each in functions if each.name == "__init__"), None)
    arguments = node.args if isinstance(node, ast.FunctionDef) else initial.args if initial else None
    text = ast.unparse(arguments).removeprefix("self, ").removeprefix("self") if arguments else ""
    lines = [line.strip() for line in (ast.get_docstring(node) or "").splitlines() if line.strip()]
    out = [".TP", f".B {troff(name)}({troff(text)})", *map(troff, lines)]
    for each in functions:
        if not each.name.startswith("_"):
            out += described(each, f"{name.removeprefix('elastic_mpi.')}.{each.name}", troff)
    return out


def pages(folder: Path, troff: Text, literal: Text) -> dict[str, str]:
    """By file name."""
    made: dict[str, str] = {}
    for each in (c_pages, fortran_pages, cxx_pages, python_pages):
        made |= each(folder, troff, literal)
    return made
