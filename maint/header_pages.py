"""Manual pages of functions that are declared in headers of src/adapt_data: the text of the comment before a declaration,
the types that the declaration names, and the summaries below.  maint/make-man writes them with its own."""

import re
from collections.abc import Callable
from pathlib import Path

HEADERS = ("adapt_data.h", "adapt_window.h", "adapt_layout.h", "adapt_boxes.h", "adapt_items.h", "adapt_mesh.h",
           "adapt_motion.h")

SUMMARIES = {
    "MPIX_Adapt": "Probe and, where the world changes, move all registered data",
    "MPIX_Adapt_window": "Open a window, move all registered data, close it",
    "MPIX_Adapt_enter": "Begin a program: move all registered data to a joining process, and set up",
    "MPIX_Adapt_start": "Begin a program: move the default set of data to a joining process, and set up",
    "MPIX_Adapt_step": "Probe and, where the world changes, move the default set of data",
    "MPIX_Adapt_data_default": "Return the default set of registered data",
    "MPIX_Adapt_data_cells": "Register items in cells with gaps",
    "MPIX_Adapt_data_rows": "Register rows of a mesh or sparse matrix",
    "MPIX_Adapt_rows_move": "Move rows of a mesh or sparse matrix to the processes of a partition",
    "MPIX_Ghosts_create": "Find the owners of the rows that lists name, and number ghosts",
    "MPIX_Ghosts_update": "Send values of rows to the ghosts on other processes",
    "MPIX_Ghosts_restore": "Replace local numbers by global ones",
    "MPIX_Ghosts_free": "Free ghosts",
    "MPIX_Adapt_data_create": "Create a set of registered data",
    "MPIX_Adapt_data_free": "Free a set of registered data",
    "MPIX_Adapt_data_add": "Register a distributed array",
    "MPIX_Adapt_data_share": "Register a variable that is the same on all processes",
    "MPIX_Adapt_bytes": "A datatype of so many bytes, for columns",
    "MPIX_Adapt_data_file": "Register an output file",
    "MPIX_Adapt_data_sums": "Register parts of sums over all processes",
    "MPIX_Adapt_data_boxes": "Register fields on boxes",
    "MPIX_Adapt_data_items": "Register items in arrays, each with an owner",
    "MPIX_Adapt_data_container": "Register items in a container of the program",
    "MPIX_Adapt_data_call": "Register a function that is called in each window",
    "MPIX_Adapt_data_before": "Register a function that is called in each window before anything moves",
    "MPIX_Adapt_data_start": "Begin to move registered arrays",
    "MPIX_Adapt_data_test": "Test whether an array has moved",
    "MPIX_Adapt_data_wait": "Wait until arrays have moved",
    "MPIX_Adapt_data_move": "Move all registered arrays",
    "MPIX_Adapt_data_volume": "Compute how many elements a move would send and receive",
    "MPIX_Adapt_data_count": "Return how many elements of an array this process has",
    "MPIX_Adapt_data_set_count": "Set how many elements of an irregular array this process has",
    "MPIX_Adapt_data_position": "Return the position of a rank in the layout of an array",
    "MPIX_Adapt_data_rank": "Return the rank of a position in the layout of an array",
    "MPIX_Adapt_data_message": "Return the text of the last error",
    "MPIX_Adapt_data_agree": "Agree on a message before it is sent (for bindings of other languages)",
    "MPIX_Adapt_data_call_as": "Set the function that errors name (for bindings of other languages)",
    "MPIX_Adapt_data_misfit": "Set why a part does not fit (for bindings of other languages)",
    "MPIX_Adapt_window_fill": "Fill a window from the results of MPI_Comm_adapt_begin",
    "MPIX_Adapt_window_clear": "Release the memory of a window",
    "MPIX_Adapt_window_all": "Create a communicator of all processes of a window",
    "MPIX_Adapt_window_probe": "Probe whether a window is to be opened",
    "MPIX_Adapt_window_open": "Open a window",
    "MPIX_Adapt_window_close": "Close a window",
    "MPIX_Layout_block": "Layout in consecutive blocks",
    "MPIX_Layout_block_free": "Layout in consecutive blocks, in the order that moves least",
    "MPIX_Layout_block_cyclic": "Layout in blocks that are dealt out cyclically",
    "MPIX_Layout_grid": "Layout of a matrix on a square of positions",
    "MPIX_Layout_irregular": "Layout in consecutive parts of any length",
    "MPIX_Layout_user": "Layout by a function of the program",
    "MPIX_Layout_same": "Layout of an array that all processes have whole",
    "MPIX_Layout_owner": "Return the position of an element",
    "MPIX_Layout_local": "Return the index of an element within its part",
    "MPIX_Layout_range": "Return the elements of a position",
    "MPIX_Box_of": "Make a box of bounds [low, high)",
    "MPIX_Box_closed": "Make a box of closed bounds",
    "MPIX_Boxes_even": "Boxes of a domain that is cut evenly",
    "MPIX_Boxes_even_parts": "Return how often MPIX_Boxes_even cuts along each axis",
    "MPIX_Boxes_grid": "Boxes of a grid of processes",
    "MPIX_Boxes_grid_coordinates": "Return the coordinates of a rank in a grid of processes",
    "MPIX_Boxes_grid_neighbour": "Return the neighbour of a rank in a grid of processes",
    "MPIX_Field_extents": "Return the extents of the array of a box",
    "MPIX_Adapt_boxes_move": "Move fields on boxes",
    "MPIX_Adapt_boxes_start": "Begin to move fields on boxes",
    "MPIX_Adapt_items_move": "Move items to the processes of their destinations",
    "MPIX_Adapt_items_start": "Begin to move items",
    "MPIX_Adapt_items_exchange": "Move items of a container of the program",
    "MPIX_Adapt_file": "Hand over an open file",
    "MPIX_Adapt_share": "Send a variable to joining processes",
    "MPIX_Adapt_sums": "Keep sums over all processes when some leave",
    "MPIX_Adapt_motion_test": "Test whether boxes or items have moved",
    "MPIX_Adapt_motion_wait": "Wait until boxes or items have moved",
}
ERRORS = ["The error handler of MPI_COMM_WORLD is called; by default it ends the job.", "MPIX_Adapt_data_message returns the text."]
COLLECTIVE = "It works on all processes of the window or fails on all, with one text."
WINDOW = "epop_window_t"  # shown where it is filled
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
FUNCTION = re.compile(r"^(?:const )?\w+ \*?(MPIX_\w+)\s*\([^;]*?\);", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^typedef [^;{]*?(?:\{.*?\n\} ?(\w+);|\b(\w+) ?\([^;]*?\);)", re.MULTILINE | re.DOTALL)


def prose(comment: str) -> list[str]:
    """The lines of a comment without its frame."""
    return [re.sub(r"^\s*\* ?", "", line).strip() for line in comment.strip().splitlines()]


def comment_before(text: str, at: int) -> str:
    """That of the declaration at this line, or of those just before it."""
    found = ""
    for match in COMMENT.finditer(text, 0, at):
        if not match[1].lstrip().startswith("----") and text[: match.start()].endswith("\n"):
            found = match[1] if "\n\n" not in text[match.end() : at] else ""
    return found


def types_of(declaration: str, texts: list[str]) -> list[str]:
    """The definitions of what the declaration names, and of what these name."""
    known = {match[1] or match[2]: match[0] for text in texts for match in TYPE.finditer(text)}
    names: list[str] = []
    pending = [declaration]
    while pending:
        for word in re.findall(r"\w+", pending.pop()):
            if word in known and word not in names and (word != WINDOW or "status" in declaration):
                names.append(word)
                pending.append(known[word])
    return [known[name] for name in names]


def page(name: str, header: str, texts: dict[str, str], troff: Callable[[str], str], literal: Callable[[str], str]) -> str:
    text = texts[header]
    match = next(match for match in FUNCTION.finditer(text) if match[1] == name)
    comment = comment_before(text, match.start())
    lines = [*(line for each in types_of(f"{match[0]} {comment}", list(texts.values())) for line in [*each.splitlines(), ""]), *match[0].splitlines()]
    see = [other for other in SUMMARIES if other != name and re.search(rf"\b{other}\b", comment)]
    out = [f'.\\" made by maint/make-man from src/adapt_data/{header}', f'.TH {name} 3 "" "Elastic MPICH" "MPI"', ".SH NAME"]
    out += [f"{name} \\- {troff(SUMMARIES[name])}", ".SH SYNOPSIS", ".nf", literal(f"#include <{header}>"), ""]
    out += [*map(literal, lines), ".fi", ".PP", "Link with \\-ladapt_data."]
    if printed := [line for line in prose(comment) if line]:
        out += [".SH DESCRIPTION", *map(troff, printed)]
    if name.startswith("MPIX_Adapt"):
        out += [".SH ERRORS", *map(troff, ERRORS)]
        out += [COLLECTIVE] if "const epop_window_t *window" in match[0] else []
    out += [".SH SEE ALSO", *(f".BR {other} (3)" for other in [*see[:4], *(["MPIX_Adapt"] if name != "MPIX_Adapt" else ["MPIX_Adapt_window"])])]
    return "\n".join(out) + "\n"


def pages(folder: Path, troff: Callable[[str], str], literal: Callable[[str], str]) -> dict[str, str]:
    """By file name.  A function without a summary is an error."""
    texts = {header: (folder / header).read_text(encoding="utf-8") for header in HEADERS}
    made = {}
    for header, text in texts.items():
        for match in FUNCTION.finditer(text):
            if match[1] not in SUMMARIES:
                raise SystemExit(f"maint/header_pages.py has no summary of {match[1]} ({header})")
            made[f"{match[1]}.3"] = page(match[1], header, texts, troff, literal)
    return made
