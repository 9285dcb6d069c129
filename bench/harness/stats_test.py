"""python3 -m unittest discover -s bench -p '*_test.py' -t bench"""

from __future__ import annotations

import unittest

from . import stats


class StatsTest(unittest.TestCase):
    def test_percentiles_are_by_nearest_rank(self) -> None:
        samples = [float(n) for n in range(1, 101)]
        self.assertEqual(stats.percentile(samples, 90), 90)
        self.assertEqual(stats.percentile(samples, 99), 99)
        self.assertEqual(stats.percentile([5.0], 1), 5)
        with self.assertRaises(ValueError):
            stats.percentile([], 50)

    def test_ratio_lies_in_its_interval(self) -> None:
        ours = [2.0, 2.1, 1.9, 2.0, 2.2, 2.0]
        reference = [1.0, 1.0, 1.1, 1.0, 1.0, 0.9]
        value, low, high = stats.ratio_interval(ours, reference)
        self.assertAlmostEqual(value, 2.05)
        self.assertLessEqual(low, value)
        self.assertGreaterEqual(high, value)

    def test_rounds_are_compared_each_with_its_own(self) -> None:
        ours = [1.0, 10.0, 100.0, 1000.0]
        value, low, high = stats.ratio_interval(ours, [2 * x for x in ours])
        self.assertEqual((value, low, high), (0.5, 0.5, 0.5))

    def test_least_squares_finds_the_coefficients(self) -> None:
        inputs = [[1.0, float(s), float(j)] for s in range(1, 6) for j in range(5)]
        values = [3 + 2 * x[1] + 0.5 * x[2] for x in inputs]
        found = stats.least_squares(inputs, values, [1.0] * len(values))
        for coefficient, wanted in zip(found, [3, 2, 0.5], strict=True):
            self.assertAlmostEqual(coefficient, wanted)

    def test_no_coefficient_is_negative(self) -> None:
        inputs = [[1.0, float(s)] for s in range(5)]
        found = stats.least_squares(inputs, [10 - x[1] for x in inputs], [1.0] * 5)
        self.assertEqual(found[1], 0)
        self.assertAlmostEqual(found[0], 8)

    def test_a_model_that_is_not_determined_is_reported(self) -> None:
        with self.assertRaises(ValueError):
            stats.least_squares([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0], [1.0, 1.0])


if __name__ == "__main__":
    unittest.main()
