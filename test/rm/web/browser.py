"""A headless Chromium, driven through chromedriver by the W3C WebDriver protocol."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.checks import Failure, expect

LIMIT_S = 60.0
# The browser connects to this machine only: it resolves no name, and its background services are off.
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-domain-reliability",
           "--disable-client-side-phishing-detection", "--disable-breakpad", "--no-pings", "--metrics-recording-only",
           "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater",
           "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server", "--disable-dev-shm-usage",
           "--window-size=1240,1100"]  # fmt: skip

Json = dict[str, Any]


class Browser:
    """One session of chromedriver."""

    def __init__(self, driver: str, chromium: str, profile: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.process = subprocess.Popen([driver, f"--port={port}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.wait("chromedriver", lambda: self.call("GET", "/status")["ready"])
        options = {"binary": chromium, "args": [*BROWSER, f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.process.kill()
            raise
        self.session = "/session/" + answer["sessionId"]

    def call(self, method: str, path: str, body: Json | None = None) -> Any:
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with self.opener.open(request, timeout=LIMIT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failure(f"{method} {path}: {error.read().decode()[:600]}") from None

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                if value := condition():
                    return value
            except OSError:
                pass
            expect(time.monotonic() < deadline, f"waited {LIMIT_S:.0f} s for {what}")
            time.sleep(0.05)

    def open(self, url: str) -> None:
        self.call("POST", self.session + "/url", {"url": "about:blank"})
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script: str) -> Any:
        return self.call("POST", self.session + "/execute/sync", {"script": "return " + script, "args": []})

    def text(self, selector: str) -> str:
        return self.run(f"(document.querySelector({json.dumps(selector)}) || {{textContent: ''}}).textContent")

    def count(self, selector: str) -> int:
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def click(self, selector: str) -> None:
        """The page may replace the element between the query and the click: then the new one is clicked."""

        def is_clicked() -> bool:
            found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
            try:
                self.call("POST", f"{self.session}/element/{next(iter(found.values()))}/click")
            except Failure as failure:
                if "stale element reference" not in str(failure):
                    raise
                return False
            return True

        self.wait(f"a click on {selector}", is_clicked)

    def loaded(self, url: str) -> None:
        self.open(url)
        self.wait("the page", lambda: self.run("document.body && document.body.dataset.loaded"))

    def errors(self) -> list[str]:
        log = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def screenshot_of(self, selector: str, path: Path) -> None:
        self.call("POST", self.session + "/window/rect", {"width": 1240, "height": 2400})  # all of it is in the window
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        path.write_bytes(base64.b64decode(self.call("GET", f"{self.session}/element/{next(iter(found.values()))}/screenshot")))

    def close(self) -> None:
        try:
            self.call("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait(LIMIT_S)

    def has_dialog(self) -> bool:
        try:
            self.dialog_text()
        except Failure:
            return False
        return True

    def dialog_text(self) -> str:
        return str(self.call("GET", self.session + "/alert/text"))

    def answer_dialog(self, accept: bool) -> None:
        self.call("POST", f"{self.session}/alert/{'accept' if accept else 'dismiss'}")
