"""What processes.py reads of a log."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from .processes import _growths


def _log(*events: tuple[float, str, int]) -> str:
    return "".join(json.dumps({"event": event, "time_ms": at, "group": group}) + "\n" for at, event, group in events)


class GrowthsTest(unittest.TestCase):
    def test_what_joined_before_prepares_for_a_shrink_and_is_no_growth(self) -> None:
        growth = [(10, "requested", 0), (10.5, "placed", 1), (350, "prepared", 0), (360, "prepared", 1), (361, "prepared", 1)]
        shrink = [(400, "requested", 0), (401, "prepared", 0), (402, "prepared", 1)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            path.write_text(_log(*growth, *shrink))
            self.assertEqual(_growths(path), [350e3])
