"""Clauses of the specification (doc/spec): the lists beside this file name tests that exist, and all clauses up to the last
of each letter; every clause that code or a test cites is specified."""

from __future__ import annotations

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = sorted(Path(__file__).resolve().parent.glob("*.list"))
SPECIFICATION = ROOT / "doc/spec"
PAGES = ("adaptation", "sessions", "dynamic-processes", "performance", "epop")
TWO_LETTERS = "SN SI SO SD SB SR SJ SL SA SF SM SW SE ST SC SX DM DS DA DC DN DX".split()
# Files that cite clauses; in C and C++ single-letter ids count in comments only.
CITING = re.compile(r"^(src|test|bench|examples)/.*(\.([ch]|[ch]pp|inc|py|list|txt)|/testlist|/programs|/run)$")
C_LIKE = re.compile(r".*\.([ch]|[ch]pp|inc)")
NO_CLAUSES = {"C11"}  # the standard of the language
# How many clauses there are of each letter, where every one has a test.
COMPLETE = {
    "sessions.list": {
        **{"SN": 7, "SI": 9, "SO": 9, "SD": 3, "SB": 2, "SR": 11, "SJ": 2, "SL": 4, "SA": 3, "SF": 4, "SM": 3, "SW": 3},
        **{"SE": 1, "ST": 1, "SC": 6, "SX": 12},
    },
    "dynamic-processes.list": {"DM": 6, "DS": 5, "DA": 12, "DC": 3, "DN": 7, "DX": 3},
}


def texts(folder: str, pattern: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob(pattern)))


def known_tests() -> set[str]:
    """As the lists write them."""
    unit = re.findall(r"^TEST(?:_F)?\((\w+), (\w+)\)", texts("src", "*_test.cpp"), re.M)
    elastic = re.findall(r"^(\w+) +\|", (ROOT / "test/elastic/testlist").read_text(encoding="utf-8"), re.M)
    functions = re.findall(r"^def (\w+)\(bench: Bench\)", texts("test/rm", "*_tests.py"), re.M)
    installed = re.findall(r"^    def (check_\w+)\(self", (ROOT / "test/install/test_installation.py").read_text(encoding="utf-8"), re.M)
    hosts = re.findall(r"^def (\w+)\(run: HostRun\)", texts("test/elastic/cluster/hosttests", "*.py"), re.M)
    bars = re.findall(r'^    Bar\(\s*"(\w+)",', texts("bench/harness", "bars.py"), re.M)
    kinds = {"elastic": elastic, "rm": functions, "install": installed, "hosts": hosts, "bench": bars}
    return {f"unit:{suite}.{name}" for suite, name in unit} | {f"{kind}:{name}" for kind, names in kinds.items() for name in names}


def expand(clauses: str) -> list[str]:
    """"D1-D3": D1, D2, D3."""
    first, _, last = clauses.partition("-")
    if not last:
        return [first]
    low, high = re.fullmatch(r"(.*?)(\d+)", first), re.fullmatch(r"(.*?)(\d+)", last)
    assert low and high and low[1] == high[1], clauses
    return [f"{low[1]}{number}" for number in range(int(low[2]), int(high[2]) + 1)]


def read(path: Path) -> dict[str, list[str]]:
    """Clause: tests."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        clauses, _, tests = (column.strip() for column in line.split(" | "))
        for clause in expand(clauses):
            assert clause not in found, f"{path.name}: {clause} twice"
            found[clause] = tests.split()
    return found


def specified(page: str) -> set[str]:
    """The clauses of a page: lines `- P3 text`, and `- G13.2-G13.3 text`."""
    text = (SPECIFICATION / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"^- ([A-Z]{1,2}\d+(?:\.\d+)?)(?:-([A-Z]{1,2}\d+(?:\.\d+)?))? ", text, re.M)
    return {clause for pair in found for clause in pair if clause}


def cited_anywhere(name: str, text: str) -> set[str]:
    """Clauses that a file cites without the name of a page."""
    found = set(re.findall(rf"(?<!\w)((?:{'|'.join(TWO_LETTERS)})\d{{1,2}})(?![A-Za-z0-9])", text))
    if C_LIKE.fullmatch(name):
        text = " ".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S))
    elif not name.endswith((".list", "/testlist")):
        return found
    return found | set(re.findall(r"(?<![\w%#&$.\\'\"/<(-])([A-Z]\d{1,2})(?![\w%.'\"\[(+*=])", text)) - NO_CLAUSES


def cited_by_page(text: str) -> set[tuple[str, str]]:
    """(page, clause) of `SPEC P3` and `SPEC-epop D2, D3`; `SPEC` alone is the page of adaptations."""
    clauses = r"[A-Z]{1,2}\d{1,2}"
    citation = re.compile(rf"SPEC(-[a-z-]+)? ({clauses}(?:(?:, | and |-){clauses})*)")
    return {
        (page[1:] or "adaptation", clause)
        for page, some in citation.findall(text)
        for clause in re.findall(clauses, some)
        if page or len(re.sub(r"\d", "", clause)) == 1
    }


# Calls that fail a test: of GoogleTest, of the conformance programs, of the tests in Python.
CPP_ASSERTS = re.compile(r"\b(?:EXPECT|ASSERT)_\w+\(|\bADD_FAILURE\(|\bFAIL\(")
C_ASSERTS = re.compile(r"\bET_(?:CHECK|ERROR)\(|\bet_fail|\bet_verify\(|\bet_exercise|\bMPIX?_Abort\(|\bstop [1-9]|error stop|\bFAIL\b")
PYTHON_ASSERTS = re.compile(r"\bexpect\w*\(|\braise (?:Test)?Failure\b|\brun\.(?:check|fail|await_\w+)\(|\bchecks\.\w+\(|\bwait_for\w*\(")
LIST_ASSERTS = re.compile(r"\b(?:expect|error|events|scenario)=")


def unit_bodies() -> dict[str, str]:
    """Suite.name: the body of the test, with those of the functions of its file that it calls."""
    found = {}
    for path in sorted((ROOT / "src").rglob("*_test.cpp")):
        blocks = re.findall(r"^(?!}|/\*|#)(.+?^}$)", path.read_text(encoding="utf-8"), re.M | re.S)
        asserting = {name for block in blocks if CPP_ASSERTS.search(block)
                     for name in re.findall(r"(\w+)\([^;{}]*\)[^;{}]*\{", block)} - {"if", "for", "while", "switch"}  # fmt: skip
        for block in blocks:
            if test := re.search(r"^TEST(?:_[FP])?\((\w+), (\w+)\)(.*)", block, re.S | re.M):
                calls = asserting & set(re.findall(r"\b(\w+)\(", test[3]))
                found[f"{test[1]}.{test[2]}"] = test[3] + ("EXPECT_TRUE(" if calls else "")
    return found


def python_bodies(folder: str, pattern: str, head: str) -> dict[str, str]:
    """Function: its text."""
    end = r"^(?:def|@|class|    def)" if head.startswith(" ") else r"^(?:def|@|class)"
    return {match[1]: match[0] for match in re.finditer(rf"^{head}.*?(?={end}|\Z)", texts(folder, pattern), re.M | re.S)}


def asserting_helpers() -> set[str]:
    """Functions that fail a test, themselves or by what they call."""
    text = "\n".join(texts(folder, "*.py") for folder in ("test/rm", "test/elastic/cluster/hosttests", "test/install"))
    bodies = re.findall(r"^( *)def (\w+)\((.*?)(?=^(?:@|class| *def )|\Z)", text, re.M | re.S)
    found: set[str] = set()
    while True:
        more = {name for _, name, body in bodies
                if PYTHON_ASSERTS.search(body) or found & set(re.findall(r"\b(\w+)\(", body))}  # fmt: skip
        if more <= found:
            return found
        found |= more


def conformance_asserts(line: str) -> bool:
    """Assertions of the list or of the program; without both, the test checks that the schedule was carried out."""
    limits, command = line.split(" | ")[-2:] if " | " in line else ("", "")
    if LIST_ASSERTS.search(limits) or "--adapt-schedule" in line:
        return True
    sources = (ROOT / "test/elastic/programs").glob(f"{command.split()[0]}.*")
    return any(C_ASSERTS.search(source.read_text(encoding="utf-8")) for source in sources)


class Clauses(unittest.TestCase):
    def test_the_tests_are_there(self) -> None:
        known = known_tests()
        for path in LISTS:
            clauses = read(path)
            empty = [clause for clause, tests in clauses.items() if not tests]
            self.assertFalse(empty, f"{path.name}: not even that there is no test (-)")
            missing = {test for tests in clauses.values() for test in tests} - known - {"-"}
            self.assertFalse(missing, f"{path.name}: there are no such tests")

    def test_the_tests_assert_something(self) -> None:
        """A test without an assertion cannot fail; maint/mutate shows whether a test fails for the reason in its
        name."""
        units = unit_bodies()
        elastic = (ROOT / "test/elastic/testlist").read_text(encoding="utf-8")
        lines = {match[1]: match[0] for match in re.finditer(r"^(\w+) +\|.*$", elastic, re.M)}
        functions = {
            "rm": python_bodies("test/rm", "*_tests.py", r"def (\w+)\(bench: Bench\)"),
            "hosts": python_bodies("test/elastic/cluster/hosttests", "*.py", r"def (\w+)\(run: HostRun\)"),
            "install": python_bodies("test/install", "*.py", r"    def (check_\w+)\(self"),
        }
        helpers = asserting_helpers()
        without = []
        for test in sorted({test for path in LISTS for tests in read(path).values() for test in tests} - {"-"}):
            kind, _, name = test.partition(":")
            if kind == "unit":
                asserts = bool(CPP_ASSERTS.search(units.get(name, "")))
            elif kind == "elastic":
                asserts = conformance_asserts(lines[name])
            elif kind == "bench":
                asserts = True  # a limit
            else:
                text = functions[kind][name]
                asserts = bool(PYTHON_ASSERTS.search(text)) or bool((helpers - {name}) & set(re.findall(r"\b(\w+)\(", text)))
            without += [] if asserts else [test]
        self.assertEqual(without, [])

    def test_names_match_assertions(self) -> None:
        """Not the number of a clause alone."""
        units = {test for path in LISTS for tests in read(path).values() for test in tests if test.startswith("unit:")}
        numbers_only = [test for test in units if not re.search(r"[a-z]{3}", re.sub(r"(?:[A-Z]+\d+_)+", "", test.partition(".")[2]))]
        self.assertEqual(numbers_only, [])

    def test_no_clause_is_left_out(self) -> None:
        for path in LISTS:
            numbers: dict[str, set[int]] = {}
            for clause in read(path):
                if whole := re.fullmatch(r"([A-Z]+)(\d+)", clause):
                    numbers.setdefault(whole[1], set()).add(int(whole[2]))
            for letter, there in numbers.items():
                self.assertEqual(there, set(range(1, max(there) + 1)), f"{path.name}: clauses of {letter}")

    def test_every_clause_of_these_has_a_test(self) -> None:
        for name, letters in COMPLETE.items():
            clauses = read(Path(__file__).resolve().parent / name)
            expected = {f"{letter}{number}" for letter, count in letters.items() for number in range(1, count + 1)}
            self.assertEqual(expected - clauses.keys(), set(), f"{name}: clauses that are missing")
            without = [clause for clause, tests in clauses.items() if "-" in tests]
            self.assertFalse(without, f"{name}: clauses without a test")

    def test_every_cited_clause_is_specified(self) -> None:
        pages = {page: specified(page) for page in PAGES}
        every = set().union(*pages.values())
        listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
        wrong = []
        for name in filter(CITING.match, listed.splitlines()):
            if not (ROOT / name).is_file():
                continue
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            wrong += [f"{name}: {clause}" for clause in sorted(cited_anywhere(name, text) - every)]
            wrong += [f"{name}: {page} {c}" for page, c in sorted(cited_by_page(text)) if c not in pages.get(page, ())]
        self.assertFalse(wrong, "clauses that doc/spec does not have")

    def test_every_listed_clause_is_specified(self) -> None:
        for path in LISTS:
            listed = {end for clause in read(path) for end in (clause.split("-") if "." in clause else [clause])}
            self.assertEqual(listed - specified(path.stem), set(), f"{path.name}: clauses that doc/spec does not have")


if __name__ == "__main__":
    unittest.main()
