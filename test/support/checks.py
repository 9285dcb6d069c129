"""Functions by which a test checks a condition, waits for it, and reports that it cannot run here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

WAIT_S = 150.0  # generous: machines are shared

Skip = pytest.skip.Exception  # raised with the reason


class Failure(Exception):
    """A condition that a test expected and that did not hold."""


def expect(condition: object, message: object) -> None:
    if not condition:
        raise Failure(str(message))


def wait_for(what: str, condition: Callable[[], Any], limit_s: float = WAIT_S) -> Any:
    """The first value of the condition that counts as true."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise Failure(f"waited {limit_s:g} s in vain for {what}")
