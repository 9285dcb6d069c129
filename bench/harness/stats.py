"""Statistics of samples: percentiles, ratios with an interval, least squares."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import median

RESAMPLES = 1000
INTERVAL_PERCENT = 90


def percentile(samples: Sequence[float], percent: float) -> float:
    """Nearest rank."""
    if not samples:
        raise ValueError("a percentile of nothing")
    ordered = sorted(samples)
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1]


def summary(samples: Sequence[float]) -> dict[str, float | int]:
    return {
        "count": len(samples),
        "p50": median(samples),
        "p90": percentile(samples, 90),
        "p99": percentile(samples, 99),
    }


def ratio_interval(
    ours: Sequence[float], reference: Sequence[float], seed: int = 1
) -> tuple[float, float, float]:
    """The ratio, and the interval in which it lies when rounds are drawn again.

    If there are as many of both, `ours[i]` and `reference[i]` were measured one after the other, and
    the ratio is the median of the rounds' ratios: on a virtual machine whose processors are now
    neighbours and now far apart, times have two modes, and a ratio of the medians would state which
    side met which mode more often.  Else it is the ratio of the medians.
    """
    draw = random.Random(seed)
    if len(ours) == len(reference):
        each = [_quotient(a, b) for a, b in zip(ours, reference, strict=True)]
        value = median(each)
        again = [median(draw.choices(each, k=len(each))) for _ in range(RESAMPLES)]
    else:
        value = _quotient(median(ours), median(reference))
        again = [
            _quotient(
                median(draw.choices(ours, k=len(ours))),
                median(draw.choices(reference, k=len(reference))),
            )
            for _ in range(RESAMPLES)
        ]
    rest = (100 - INTERVAL_PERCENT) / 2
    return value, percentile(again, rest), percentile(again, 100 - rest)


def _quotient(a: float, b: float) -> float:
    return a / b if b else 1.0 if a == b else math.inf


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gauss with row exchanges; raises ValueError if there is no single solution."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    scale = max((abs(x) for row in matrix for x in row), default=0.0)
    for column in range(size):
        pivot = max(range(column, size), key=lambda r: abs(rows[r][column]))
        if abs(rows[pivot][column]) <= 1e-12 * scale:
            raise ValueError("the measurements do not determine the model")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for r in range(size):
            if r != column:
                factor = rows[r][column] / rows[column][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(
    inputs: Sequence[Sequence[float]], values: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Coefficients, none of them negative, that minimise the weighted squared errors.

    A cost cannot be negative: the term with the most negative coefficient is left out until none
    is (its coefficient is 0 then).
    """
    terms = list(range(len(inputs[0])))
    while True:
        normal = [
            [sum(w * x[i] * x[j] for x, w in zip(inputs, weights, strict=True)) for j in terms]
            for i in terms
        ]
        right = [
            sum(w * x[i] * y for x, y, w in zip(inputs, values, weights, strict=True))
            for i in terms
        ]
        found = solve(normal, right)
        if min(found) >= 0 or len(terms) == 1:
            result = [0.0] * len(inputs[0])
            for term, coefficient in zip(terms, found, strict=True):
                result[term] = coefficient
            return result
        del terms[found.index(min(found))]


def explained(values: Sequence[float], predicted: Sequence[float]) -> float:
    """Share of the variance that the predictions explain (R squared)."""
    mean = sum(values) / len(values)
    total = sum((v - mean) ** 2 for v in values)
    rest = sum((v - p) ** 2 for v, p in zip(values, predicted, strict=True))
    return 1 - rest / total if total else 0.0
