"""elasticd's web page (src/rm/web) in a headless Chromium, served with made-up jobs on localhost.

browser.py drives Chromium (Debian: chromium, chromium-driver).  `web/screenshots FOLDER` writes pictures of the page.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "test" / "rm" / "cli"), str(ROOT / "test")]
sys.path.insert(0, str(Path(__file__).resolve().parent))
from browser import Browser  # noqa: E402
from fake_elasticd import CODES, FakeElasticd, Json  # noqa: E402
from fake_loops import measured_loops, now_ms  # noqa: E402
from support.checks import expect  # noqa: E402

WEB = ROOT / "src" / "rm" / "web"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
# As elasticd sends it.
API_SOURCE = (ROOT / "src" / "rm" / "api" / "api.cpp").read_text()
(POLICY_TEXTS,) = re.findall(r'PAGE_POLICY =((?:\s*"[^"]*")+);', API_SOURCE)
POLICY = "".join(re.findall(r'"([^"]*)"', POLICY_TEXTS))
EVIL = "<b id=evil>heat</b>"


# ---------------------------------------------------------------- what is shown


class MadeUp(FakeElasticd):
    """Four nodes of four cores; an elastic job that gave way to a rigid one and grew back, others around them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, cores=4)
        self.token = ""
        self.web_changes = False
        self.administrator = True
        self.most_nodes = 0
        self.nodes: dict[str, Json] = {f"n{i}": {"name": f"n{i}", "cores": 4, "state": "up", "reason": None} for i in range(4)}
        self.nodes["n3"].update(state="draining", reason="new memory", gpus=4, gpus_used=[0, 1, 3], partitions=["batch", "all"])
        start = now_ms() - 240_000
        self.segments: list[Json] = []
        self.add_job("heat2d", "ADAPTING", 2, 12, start, [("n0", 2), ("n1", 2)])
        self.add_job("rigid solver", "DONE", 4, 4, start + 60_000, [])
        self.add_job(EVIL, "RUNNING", 1, 2, start + 90_000, [("n3", 2)])
        self.add_job("waiting", "PENDING", 16, 16, None, [])
        self.jobs[1]["adaptation"] = {"request": 3, "phase": "asked", "from": 4, "size": 8}
        self.jobs[1]["counts"]["committed"] = 2
        self.jobs[2].update(end_ms=start + 150_000, exit_code=0)
        self.jobs[3]["partition"] = "batch"
        self.jobs[3]["gpus"] = [{"node": "n3", "gpus": [0, 1, 3]}]
        self.jobs[4]["reason"] = "Resources"
        for node in ("n0", "n1"):
            self.segment(1, node, 4, start, start + 60_000)
            self.segment(1, node, 2, start + 60_000, start + 150_000)
            self.segment(2, node, 2, start + 60_000, start + 150_000)
            self.segment(1, node, 4, start + 150_000, None)
        self.segment(3, "n3", 2, start + 90_000, None)
        self.segments.append({"job": None, "name": "", "node": "n2", "cores": 1, "from_ms": start, "to_ms": None})
        # It gave way and grew back: with few processes each step of the work took longer, and less of it was MPI.
        sizes = [8, 8, 4, 4, 4, 8, 8, 8]
        measured = [(start + 30_000 * (i + 1), size, 0.6 * size, 0.05 * size if i else None) for i, size in enumerate(sizes)]
        self.jobs[1]["_loops"] = measured_loops(measured)
        with self.lock:
            self.record("submitted", 1, spec={"name": "heat2d", "minimum": 2, "maximum": 12, "elasticity": "malleable"})
            self.record("placed", 1, step=1, size=8, blocks=[{"node": "n0", "processes": 4}], waited_ms=10)
            self.record("committed", 1, step=1, request=1, epoch=1, old_size=8, size=4, standstill_ms=7,
                        blocks=[{"node": "n0", "processes": 2}, {"node": "n1", "processes": 2}])  # fmt: skip

    def add_job(self, name: str, state: str, low: int, high: int, start: int | None, where: list[tuple[str, int]]) -> int:
        body = {"command": ["./" + name], "directory": "/", "environment": {}, "min": low, "max": high, "name": name, "held": True}
        with self.lock:
            number: int = self.submit(body)["job"]["id"]
            self.records.pop()
            self.jobs[number].update(state=state, code=CODES[state], held=False, reason=None, submit_ms=now_ms() - 250_000, start_ms=start,
                                     nodes=[{"name": node, "processes": n} for node, n in where],
                                     size=sum(n for _, n in where))  # fmt: skip
        return number

    def segment(self, job: int, node: str, cores: int, start: int, end: int | None) -> None:
        self.segments.append({"job": job, "name": self.jobs[job]["name"], "node": node, "cores": cores, "from_ms": start, "to_ms": end})

    def grow_machine(self, count: int) -> None:
        """A large machine: jobs of one node each on the first half of it."""
        self.small = self.nodes, self.segments
        self.nodes = {f"m{i:05}": {"name": f"m{i:05}", "cores": 4, "state": "up", "reason": None} for i in range(count)}
        self.nodes["m00007"].update(state="down", reason="no answer")
        start = now_ms() - 200_000
        self.segments = [{"job": i, "name": "one", "node": f"m{i:05}", "cores": 4, "from_ms": start, "to_ms": None} for i in range(count // 2)]

    def shrink_machine(self) -> None:
        self.nodes, self.segments = self.small

    def range(self, query: dict[str, str]) -> list[Json]:
        return [node for name, node in sorted(self.nodes.items()) if query.get("first", "") <= name <= query.get("last", "~")]

    def list_nodes(self, query: dict[str, str]) -> Json:
        states = [state for state in query.get("state", "").split(",") if state]
        nodes = [node for node in self.range(query) if not states or node["state"] in states]
        self.most_nodes = max(self.most_nodes, len(nodes))
        use = {one["name"]: one for one in self.get_nodes()["nodes"]} if len(self.nodes) < 100 else {}
        return {"nodes": [{"cores_used": 0, "jobs": [], **node, **use.get(node["name"], {})} for node in nodes], "more": False}

    def version(self) -> Json:
        version = super().version()
        return version | {"web_changes": self.web_changes, "user": version["user"] | {"administrator": self.administrator}}

    def summary(self) -> Json:
        up = sum(node["state"] == "up" for node in self.nodes.values())
        cores = sum(node["cores"] for node in self.nodes.values())
        return super().summary() | {"nodes": {"up": up, "down": len(self.nodes) - up}, "cores": cores}

    def groups(self, query: dict[str, str]) -> Json:
        nodes, count, columns = self.range(query), int(query["groups"]), int(query["columns"])
        held = {segment["node"] for segment in self.segments}
        groups = []
        for i in range(count):
            here = nodes[i * len(nodes) // count : (i + 1) * len(nodes) // count]
            used = [4.0 * sum(node["name"] in held for node in here)] * columns
            groups.append({"first": here[0]["name"], "last": here[-1]["name"], "nodes": len(here), "cores": 4 * len(here), "used": used})
        return {"from_ms": int(query["from_ms"]), "to_ms": int(query["to_ms"]), "groups": groups}

    def timeline(self, query: dict[str, str]) -> Json:
        if "groups" in query:
            return self.groups(query)
        if "first" in query:
            names = {node["name"]: node for node in self.range(query)}
            nodes = [{"name": name, "cores": node["cores"]} for name, node in names.items()]
            return {"from_ms": int(query["from_ms"]), "to_ms": int(query["to_ms"]), "nodes": nodes, "more": False,
                    "segments": [segment for segment in self.segments if segment["node"] in names]}  # fmt: skip
        nodes = [{"name": node["name"], "cores": node["cores"]} for node in self.nodes.values()]
        return {"from_ms": int(query["from_ms"]), "to_ms": int(query["to_ms"]), "nodes": nodes, "segments": self.segments, "more": False}

    def list_jobs(self, query: dict[str, str]) -> Json:
        del query
        return {"jobs": [self.public(job) for job in self.jobs.values()], "more": False}

    def get_records(self, query: dict[str, str]) -> Json:
        records = [record for record in self.records if str(record["job"]) == query["job"]]
        return {"records": records, "next": len(self.records) + 1, "oldest": 1}


class Site:
    """Serves the page's files and the made-up jobs on localhost."""

    def __init__(self, fake: MadeUp) -> None:
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *arguments: Any) -> None:
                del format, arguments

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.answer(self, "POST", body)

            def do_GET(self) -> None:
                if self.path.startswith("/v1/"):
                    if fake.token and self.headers.get("Authorization") != f"Bearer {fake.token}":
                        return site.send(self, 401, "application/json", b'{"error": {"code": "token", "message": "a token is missing"}}')
                    return fake.answer(self, "GET", {})
                path = WEB / (urllib.parse.urlsplit(self.path).path.strip("/") or "index.html")
                if path.parent != WEB or not path.is_file():
                    return site.send(self, 404, "text/plain", b"")
                return site.send(self, 200, TYPES[path.suffix], path.read_bytes())

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @staticmethod
    def send(handler: http.server.BaseHTTPRequestHandler, status: int, kind: str, data: bytes) -> None:
        handler.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))), ("Content-Security-Policy", POLICY)):
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


# ---------------------------------------------------------------- tests


def test_chart(browser: Browser, site: Site, fake: MadeUp) -> None:
    """the chart shows every segment in its job's colour, and each adaptation"""
    browser.loaded(site.url)
    browser.wait("job 1 to be drawn", lambda: browser.count("#chart rect.segment[data-job='1']") >= 6)
    expect(browser.count("#chart rect.segment[data-job='2']") == 2, "job 2 is not drawn on both nodes")
    expect(browser.count("#chart polygon.shrink") == 1 and browser.count("#chart polygon.grow") == 1, "adaptations")
    expect("8 → 4 cores" in browser.text("#chart polygon.shrink title"), browser.text("#chart polygon.shrink title"))
    colours = browser.run("[...document.querySelectorAll('#chart rect.segment')].map(r => r.dataset.job + r.getAttribute('fill'))")
    expect(len(set(colours)) == 4, colours)  # three jobs and somebody else's
    overlap = browser.run("""(() => {
        const boxes = [...document.querySelectorAll('#chart rect.segment')].map(r => ['x', 'y', 'width', 'height'].map(a => +r.getAttribute(a)));
        return boxes.some((a, i) => boxes.some((b, j) => i < j && a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]));
    })()""")
    expect(not overlap, "segments overlap")
    expect(browser.run("document.getElementById('use').getBBox().height") > 20, "no utilisation")


def test_tables(browser: Browser, site: Site, fake: MadeUp) -> None:
    """queue and nodes: running and waiting jobs, with reasons; without ended jobs"""
    browser.loaded(site.url)
    rows = browser.run("[...document.querySelectorAll('#queue tbody tr')].map(r => r.innerText)")
    expect(len(rows) == 3 and "4 → 8" in rows[0] and "n0:2 n1:2" in rows[0], rows)
    expect("PENDING" in rows[2] and "(Resources)" in rows[2], rows)
    expect(sum(" · batch" in row for row in rows) == 1, f"partitions: {rows}")
    nodes = browser.run("[...document.querySelectorAll('#nodes tbody tr')].map(r => r.innerText)")
    expect(len(nodes) == 4 and "draining" in nodes[3] and "new memory" in nodes[3], nodes)
    expect("of 4 cores, 3 of 4 GPUs" in nodes[3] and not any("GPU" in node for node in nodes[:3]), nodes)
    expect("n3 · batch, all" in nodes[3] and not any(" · " in node for node in nodes[:3]), f"partitions: {nodes}")
    expect("of 16 cores" in browser.text("#facts"), browser.text("#facts"))


def test_history(browser: Browser, site: Site, fake: MadeUp) -> None:
    """a click on a job opens its history; the address leads to it again"""
    browser.loaded(site.url)
    expect(browser.run("document.getElementById('details').hidden"), "open at once")
    browser.click("#chart rect.segment[data-job='1']")
    browser.wait("the history", lambda: browser.count("#records tbody tr") == 3)
    expect("epoch 1: 8 → 4 processes on n0:2 n1:2, stood still 7 ms" in browser.text("#records"), browser.text("#records"))
    expect(browser.run("location.hash") == "#job=1" and browser.count("rect.segment.chosen") > 0, "not chosen")
    browser.click("#close")
    expect("GPU" not in browser.text("#fields"), browser.text("#fields"))
    browser.click("#queue tr[data-job='3']")
    browser.wait("its GPUs", lambda: "n3: 0-1,3" in browser.text("#fields"))
    expect("batch" in browser.text("#fields"), browser.text("#fields"))
    browser.click("#close")
    browser.wait("closing", lambda: browser.run("document.getElementById('details').hidden"))
    browser.loaded(site.url + "#job=2")
    browser.wait("job 2", lambda: "rigid solver" in browser.text("#details-title"))
    browser.click("#queue tr[data-job='4']")
    browser.wait("job 4", lambda: "waiting" in browser.text("#details-title"))


@pytest.fixture
def changes(browser: Browser, fake: MadeUp) -> Iterator[tuple[int, int]]:
    """elasticd with web.allow_changes, and two jobs that the test may change: one in the queue, an elastic one."""
    fake.web_changes = True
    queued = fake.add_job("queued", "PENDING", 16, 16, None, [])
    elastic = fake.add_job("elastic", "RUNNING", 1, 4, now_ms(), [("n2", 1)])
    yield queued, elastic
    browser.open("about:blank")  # a page of these jobs queries them as long as it is shown
    fake.web_changes, fake.administrator = False, True
    del fake.jobs[queued], fake.jobs[elastic]


def buttons(browser: Browser) -> list[str]:
    """The buttons that the details of a job show."""
    return browser.run("[...document.querySelectorAll('#changes button')].filter(b => b.offsetParent).map(b => b.id)")


def shows(browser: Browser, expected: list[str]) -> bool:
    return buttons(browser) == expected


def test_no_buttons(browser: Browser, site: Site, fake: MadeUp) -> None:
    """without web.allow_changes the page has no buttons that change a job"""
    browser.loaded(site.url + "#job=4")
    browser.wait("job 4", lambda: "waiting" in browser.text("#details-title"))
    expect(buttons(browser) == [], buttons(browser))


def test_buttons(browser: Browser, site: Site, fake: MadeUp, changes: tuple[int, int]) -> None:
    """with web.allow_changes the page holds, releases, resizes and cancels a job, after a confirmation"""
    queued, elastic = changes
    browser.loaded(site.url + f"#job={queued}")
    browser.wait("the buttons", lambda: buttons(browser) == ["cancel", "hold"])
    browser.click("#cancel")
    expect(browser.dialog_text() == f"Cancel job {queued}?", browser.dialog_text())
    browser.answer_dialog(False)
    expect(fake.jobs[queued]["state"] == "PENDING", "the job is cancelled without a confirmation")
    browser.click("#hold")
    browser.answer_dialog(True)
    browser.wait("the other button", lambda: buttons(browser) == ["cancel", "release"])
    expect(fake.jobs[queued]["held"] and browser.text("#changed") == "hold: accepted", browser.text("#changed"))
    browser.click("#cancel")
    browser.answer_dialog(True)
    browser.wait("the end", lambda: fake.jobs[queued]["state"] == "CANCELLED" and buttons(browser) == [])

    browser.loaded(site.url + f"#job={elastic}")
    browser.wait("the buttons", lambda: buttons(browser) == ["cancel", "suspend", "resize"])
    for size, state in ((3, "resize: accepted"), (9, "resize: 9 is not within 1:4")):
        # as a user does: the page does not overwrite what has the focus
        browser.run(f"(e => {{ e.focus(); return e.value = {size}; }})(document.getElementById('size'))")
        browser.click("#resize")
        expect(browser.dialog_text() == f"Change job {elastic} to {size} processes?", browser.dialog_text())
        browser.answer_dialog(True)
        browser.wait(state, lambda: browser.text("#changed") == state)
    expect(fake.jobs[elastic]["size"] == 3, fake.jobs[elastic]["size"])
    browser.errors()  # the refused size is logged there


def test_suspend_buttons(browser: Browser, site: Site, fake: MadeUp, changes: tuple[int, int]) -> None:
    """an administrator suspends and resumes a job, after a confirmation; others have no such buttons"""
    _, elastic = changes
    fake.administrator = False
    browser.loaded(site.url + f"#job={elastic}")
    browser.wait("a user's buttons", lambda: buttons(browser) == ["cancel", "resize"])
    fake.administrator = True
    browser.wait("the button", lambda: buttons(browser) == ["cancel", "suspend", "resize"])
    for verb, state, then in (("suspend", "SUSPENDED", ["cancel", "resume"]), ("resume", "RUNNING", ["cancel", "suspend", "resize"])):
        browser.click(f"#{verb}")
        expect(browser.dialog_text() == f"{verb.capitalize()} job {elastic}?", browser.dialog_text())
        browser.answer_dialog(False)
        expect(fake.jobs[elastic]["state"] != state, f"{verb} without a confirmation")
        browser.click(f"#{verb}")
        browser.answer_dialog(True)
        browser.wait("the other button", functools.partial(shows, browser, then))
        expect(fake.jobs[elastic]["state"] == state, fake.jobs[elastic]["state"])


def test_text_is_no_markup(browser: Browser, site: Site, fake: MadeUp) -> None:
    """names of jobs cannot bring markup into the page"""
    browser.loaded(site.url + "#job=3")
    browser.wait("job 3", lambda: EVIL in browser.text("#details-title"))
    expect(browser.count("#evil") == 0, "markup")


def test_large_machine(browser: Browser, site: Site, fake: MadeUp) -> None:
    """ten thousand nodes are groups; a click shows the nodes of one, and the way back; the page stays small"""
    fake.grow_machine(10_000)
    fake.most_nodes = 0
    try:
        browser.loaded(site.url)
        expect(browser.count("#chart g.group") == 64, browser.count("#chart g.group"))
        expect(browser.run("document.querySelectorAll('*').length") < 2500, "too much is drawn")
        rows = browser.run("[...document.querySelectorAll('#nodes tbody tr')].map(r => r.innerText)")
        expect(len(rows) == 1 and "m00007" in rows[0], rows)
        heights = browser.run("[...document.querySelectorAll('#chart g.group path')].map(p => p.getBBox().height)")
        expect(heights[0] > 3 and heights[-1] == 0, heights)
        expect("156 nodes" in browser.text("#chart g.group:nth-child(2) title"), browser.text("#chart g.group:nth-child(2) title"))
        browser.click("#chart g.group:nth-child(1)")
        browser.wait("the nodes of a group", lambda: browser.count("#chart rect.segment") == 156)
        expect(browser.count("#nodes tbody tr") == 156, browser.count("#nodes tbody tr"))
        expect(browser.text("#range").startswith("m00000"), browser.text("#range"))
        browser.click("#all-nodes")
        browser.wait("all nodes again", lambda: browser.count("#chart g.group") == 64)
        expect(fake.most_nodes <= 200, f"the page has requested {fake.most_nodes} nodes at once")
    finally:
        fake.shrink_machine()


def test_loops(browser: Browser, site: Site, fake: MadeUp) -> None:
    """a measured job shows its MPI share over time, its progress and its loops; others show none"""
    browser.loaded(site.url + "#job=1")
    browser.wait("the share", lambda: browser.count("#share rect.share") == 8)
    expect(not browser.run("document.getElementById('measured').hidden"), "it is hidden")
    heights = browser.run("[...document.querySelectorAll('#share rect.share')].map(one => one.height.baseVal.value)")
    expect(heights[0] == 0 and heights[7] > 1.9 * heights[2] > 0, heights)
    titles = browser.run("[...document.querySelectorAll('#share title')].map(one => one.textContent)")
    expect("8 processes, – in MPI" in titles[0] and "4 processes, 20.0 % in MPI, 2.4 a second" in titles[2], titles)
    expect([t for t in browser.run("[...document.querySelectorAll('#share .size')].map(one => one.textContent)")] == ["8", "4", "8"], "sizes")
    curve = browser.run("document.querySelector('#speedup path.progress').getAttribute('d')")
    expect(re.fullmatch(r"M[\d.]+,[\d.]+(L[\d.]+,[\d.]+){2}", curve), f"the estimated speed-up: {curve}")
    dots = browser.run("[...document.querySelectorAll('#speedup circle title')].map(one => one.textContent)")
    expect(dots == ["2 processes: 2.00, 5 a second in 3 intervals"], f"what was measured: {dots}")
    expect("20 probes in 0:04: 5 a second (recently 4.5 a second)" in browser.text("#measured-now"), browser.text("#measured-now"))
    expect(browser.count("#loops tbody tr") == 2, "loops")
    expect("200 ms25.0 %10.0 % – 40.0 %1 on n1" in browser.text("#loops tbody tr:nth-child(1)"), browser.text("#loops"))
    expect("heat2d+0x393e" in browser.text("#loops tbody tr:nth-child(2)"), browser.text("#loops"))
    browser.loaded(site.url + "#job=4")
    browser.wait("another job", lambda: "waiting" in browser.text("#details-title"))
    expect(browser.run("document.getElementById('measured').hidden"), "a job without samples shows none")
    evil = measured_loops([(now_ms(), 2, 5.0, 0.25)])
    evil["loops"][1]["name"] = evil["loops"][0]["slowest"][0]["host"] = EVIL
    fake.jobs[4]["_loops"] = evil
    browser.wait("the loops", lambda: "<b id=evil>" in browser.text("#loops"))
    expect(browser.count("#evil") == 0, "text has become markup")
    del fake.jobs[4]["_loops"]


def test_report_file(browser: Browser, site: Site, fake: MadeUp) -> None:
    """the file of 'elastic report --html' is drawn by the same script, without elasticd"""
    now = now_ms()
    timeline = fake.timeline({"from_ms": str(now - 300_000), "to_ms": str(now)})
    data = {"title": "a <run>", "timeline": timeline, "report": {"jobs": 3, "metrics": [{"title": "Jobs", "path": ["jobs"], "unit": "count"}]}}
    text = json.dumps(data).replace("<", "\\u003c")
    scripts = "".join((WEB / name).read_text() for name in ("chart.js", "report.js"))
    with tempfile.TemporaryDirectory(prefix="elastic-web-") as folder:
        path = Path(folder) / "report.html"
        path.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body><script id="data" type="application/json">{text}</script><script>{scripts}</script>')
        browser.open(path.as_uri())
        browser.wait("the chart", lambda: browser.count("rect.segment[data-job='1']") >= 6)
        expect(browser.text("h1") == "a <run>" and "Jobs3" in browser.text("#metrics"), browser.text("#metrics"))


def test_live(browser: Browser, site: Site, fake: MadeUp) -> None:
    """the page follows changes, and reports when elasticd does not answer"""
    browser.loaded(site.url)
    number = fake.add_job("newcomer", "RUNNING", 1, 1, now_ms(), [("n2", 1)])
    browser.wait("the new job", lambda: "newcomer" in browser.text("#queue"))
    del fake.jobs[number]
    fake.answer_nonsense = True
    browser.wait("the problem", lambda: browser.run("!document.getElementById('problem').hidden"))
    fake.answer_nonsense = False
    browser.wait("recovery", lambda: browser.run("document.getElementById('problem').hidden"))
    browser.errors()  # those were wanted


def test_token(browser: Browser, site: Site, fake: MadeUp) -> None:
    """where a token is wanted the page requests it, and keeps it for this window only"""
    fake.token = "secret"
    browser.open(site.url)
    browser.wait("the question", lambda: browser.run("document.getElementById('login') && !document.getElementById('login').hidden"))
    browser.errors()  # refusals show there
    browser.run("(document.getElementById('token').value = 'secret')")
    browser.click("#login button")
    browser.wait("the queue", lambda: "heat2d" in browser.text("#queue"))
    expect(browser.run("document.cookie + Object.keys(localStorage).join()") == "", "the token is stored")
    fake.token = ""


def test_nothing_from_elsewhere(browser: Browser, site: Site, fake: MadeUp) -> None:
    """the page loads nothing from elsewhere"""
    browser.loaded(site.url)
    sources = browser.run("performance.getEntriesByType('resource').map(entry => entry.name)")
    expect(sources and all(source.startswith((site.url, "data:")) for source in sources), sources)
    texts = [path.read_text() for path in WEB.iterdir()]
    foreign = {url for text in texts for url in re.findall(r"https?://[^\s\"']+", text)} - {"http://www.w3.org/2000/svg"}
    expect(not foreign, foreign)


# ---------------------------------------------------------------- all of them


@contextmanager
def opened(driver: str, chromium: str) -> Iterator[tuple[Browser, Site, MadeUp]]:
    with tempfile.TemporaryDirectory(prefix="elastic-web-", ignore_cleanup_errors=True) as folder:
        fake = MadeUp(Path(folder) / "elasticd.sock")
        site = Site(fake)
        try:
            browser = Browser(driver, chromium, Path(folder) / "profile")
            try:
                yield browser, site, fake
            finally:
                browser.close()
        finally:
            site.close()
            fake.close()


@pytest.fixture(scope="module")
def surroundings() -> Iterator[tuple[Browser, Site, MadeUp]]:
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not chromium:
        pytest.skip("chromium and chromium-driver are not installed")
    with opened(driver, chromium) as parts:
        yield parts


@pytest.fixture
def browser(surroundings: tuple[Browser, Site, MadeUp]) -> Iterator[Browser]:
    yield surroundings[0]
    errors = surroundings[0].errors()
    expect(not errors, f"the browser's log: {errors}")


@pytest.fixture
def site(surroundings: tuple[Browser, Site, MadeUp]) -> Site:
    return surroundings[1]


@pytest.fixture
def fake(surroundings: tuple[Browser, Site, MadeUp]) -> MadeUp:
    return surroundings[2]


pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
