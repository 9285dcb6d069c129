"""Each list of clauses beside this file names tests that are there, and all clauses up to the last of each letter."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = sorted(Path(__file__).resolve().parent.glob("*.list"))
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
    installed = re.findall(r"^    def (check_\w+)\(self", (ROOT / "test/install/run").read_text(encoding="utf-8"), re.M)
    hosts = re.findall(r"^def (\w+)\(run: HostRun\)", texts("test/elastic/cluster/hosttests", "*.py"), re.M)
    bars = re.findall(r'^    Bar\(\s*"(\w+)",', texts("bench/harness", "bars.py"), re.M)
    kinds = {"elastic": elastic, "rm": functions, "install": installed, "hosts": hosts, "bench": bars}
    return {f"unit:{suite}.{name}" for suite, name in unit} | {f"{kind}:{name}" for kind, names in kinds.items() for name in names}


def expand(clauses: str) -> list[str]:
    """"D1-D3": D1, D2, D3."""
    first, _, last = clauses.partition("-")
    if not last:
        return [first]
    stem, low = re.fullmatch(r"(.*?)(\d+)", first).groups()
    high = re.fullmatch(r"(.*?)(\d+)", last)
    assert high and high[1] == stem, clauses
    return [f"{stem}{number}" for number in range(int(low), int(high[2]) + 1)]


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


class Clauses(unittest.TestCase):
    def test_the_tests_are_there(self) -> None:
        known = known_tests()
        for path in LISTS:
            clauses = read(path)
            empty = [clause for clause, tests in clauses.items() if not tests]
            self.assertFalse(empty, f"{path.name}: not even that there is no test (-)")
            missing = {test for tests in clauses.values() for test in tests} - known - {"-"}
            self.assertFalse(missing, f"{path.name}: there are no such tests")

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


if __name__ == "__main__":
    unittest.main()
