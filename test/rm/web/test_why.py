"""The page explains a job as `elastic why` does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_page import MadeUp, Site, browser, fake, pytestmark, site, surroundings  # noqa: E402, F401
from browser import Browser  # noqa: E402
from fake_elasticd import Json  # noqa: E402
from fake_loops import now_ms  # noqa: E402
from support.checks import expect  # noqa: E402

REASON = "[...document.querySelectorAll('#fields tr')].filter(r => r.cells[0].innerText === 'Why').map(r => r.cells[1].innerText).join()"


def test_why(browser: Browser, site: Site, fake: MadeUp, mpi: Path) -> None:  # noqa: F811
    """the reason of a wait or of a size, as `elastic why` prints it"""
    soon = now_ms() + 3600_000
    late = {"processes": 16, "room": 3, "full": [], "giving": [{"job": 1, "cores": 4}, {"job": None, "cores": 1}], "suspended": [], "overdue": []}
    change = {"request": 3, "from": 16, "size": 8, "at_ms": soon, "standstill_ms": 200, "reason": "for job 4"}
    overdue = {"request": 3, "phase": "asked", "from": 4, "size": 8, "since_ms": soon, "overdue": True}
    cases: list[tuple[int, Json]] = [
        (4, {"shortage": late, "expected_start_ms": soon, "expected_after": 1,
             "helpers": [{"job": 1, "from": 16, "size": 8, "committed": False}, {"job": 3, "from": 2, "size": 1, "committed": True}]}),
        (4, {"shortage": late | {"room": 0, "full": ["n1"], "giving": [], "overdue": [{"job": 1, "cores": 2}]}}),
        (4, {"shortage": late | {"giving": [], "suspended": [{"job": 1, "cores": 2}]}}), (4, {"shortage": late | {"room": 16}}),
        (4, {"shortage": late | {"nodes": 3, "open_nodes": 3}}), (4, {"shortage": late | {"nodes": 3, "open_nodes": 2, "room": 0}}),
        (4, {"shortage": late | {"nodes": 1, "open_nodes": 1}}), (4, {"shortage": late | {"nodes": 1, "open_nodes": 0, "processes": 1, "room": 0}}),
        (1, {"adaptation": overdue}), (1, {"why": "4 processes: measured", "last_change": change}), (1, {"last_change": change}),
        (1, {"performance": {"held_because": "cost"}}), (1, {"suspended_since_ms": soon, "keeps_waiting": [4]}),
        (1, {"suspended_since_ms": soon, "keeps_waiting": [4, None]}),
    ]  # fmt: skip
    fields = ("shortage", "expected_start_ms", "expected_after", "helpers", "why", "last_change", "performance", "suspended_since_ms", "keeps_waiting")
    before = {number: {name: fake.jobs[number].get(name) for name in (*fields, "adaptation")} for number in (1, 4)}
    environment = {**os.environ, "ELASTICD_SOCKET": str(fake.socket)}
    times = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|(\d+/\d+/\d{4}, )?\d+:\d\d:\d\d\s[AP]M")
    try:
        for number, changed in cases:
            fake.jobs[number].update(dict.fromkeys(fields) | changed)
            printed = subprocess.run([mpi / "bin" / "elastic", "why", str(number), "--json"], env=environment, capture_output=True, text=True, check=True)
            wanted = times.sub("TIME", json.loads(printed.stdout)["text"])
            browser.loaded(site.url + f"#job={number}")
            shown = browser.wait("the reason", lambda: browser.run(REASON))
            expect(times.sub("TIME", shown) == wanted, f"{changed}: '{shown}', elastic why: '{wanted}'")
            browser.click("#close")
    finally:
        for number, values in before.items():
            fake.jobs[number].update(values)
    browser.loaded(site.url + "#job=2")
    browser.wait("job 2", lambda: "rigid solver" in browser.text("#details-title"))
    expect("Why" not in browser.text("#fields"), "an ended job waits for nothing")
