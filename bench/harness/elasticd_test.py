"""What elasticd.py reads of rm_bench, and what it makes of a turn beside other programs."""

from __future__ import annotations

import unittest

from .elasticd import costs_of_why, p99_of_rounds, turn_case

PRINTED = """\
easy  why, 10000 nodes, 100 waiting: at most 7.2 ms (start 6246 us, shortage 755 us, helpers 206 us, reason 12 us)
fill  why, 10000 nodes, 100 waiting: at most 31.0 ms (start 30000 us, shortage 292 us, helpers 173 us, reason 9 us)   MISSED: 20 ms
"""


class WhyTest(unittest.TestCase):
    def test_each_policy_has_its_longest_answer(self) -> None:
        self.assertEqual(costs_of_why(PRINTED), {"easy": 7.2, "fill": 31.0})

    def test_other_output_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            costs_of_why("usage: rm_bench\n")


class TurnTest(unittest.TestCase):
    def test_what_only_a_busy_machine_makes_too_long_is_undecided(self) -> None:
        case = turn_case("ended", 12.0, slowdown=1.5)
        self.assertEqual((case.value, case.low, case.high), (12.0, 8.0, 12.0))
        self.assertFalse(case.holds or case.certain)

    def test_what_is_too_long_without_other_programs_fails(self) -> None:
        case = turn_case("ended", 18.0, slowdown=1.5)
        self.assertTrue(case.certain and not case.holds)


class RoundsTest(unittest.TestCase):
    def test_a_round_is_its_p99(self) -> None:
        self.assertEqual(p99_of_rounds([[1.0, 9.0, 2.0], [3.0]]), [[9.0], [3.0]])


if __name__ == "__main__":
    unittest.main()
