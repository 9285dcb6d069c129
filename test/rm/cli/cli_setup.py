"""The folder, fake elasticd and command of a test of `elastic`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_elasticd import FakeElasticd  # noqa: E402
from support.checks import Failure, expect  # noqa: E402

LIMIT_S = 60.0  # for anything that is waited for; machines are slow


class Setup:
    """One test's folder, daemon and way to call the command."""

    def __init__(self, elastic: str, folder: Path) -> None:
        self.elastic, self.folder = elastic, folder
        self.fake = FakeElasticd(folder / "elasticd.sock")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ELASTIC")}
        self.environment |= {"ELASTICD_SOCKET": str(self.fake.socket), "XDG_RUNTIME_DIR": str(folder)}

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([self.elastic, *words], cwd=self.folder, env=self.environment, text=True, **options)

    def call(self, *words: str, code: int = 0, text: str | None = None, umask: int = -1) -> tuple[str, str]:
        """Standard output and error; Failure if the exit code is another."""
        options: dict[str, Any] = {"umask": umask} | ({"stdin": subprocess.PIPE} if text is not None else {})
        process = self.start(*words, **options)
        try:
            out, err = process.communicate(text, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failure(f"elastic {' '.join(words)} does not end") from None
        expect(process.returncode == code, f"elastic {' '.join(words)}: exit code {process.returncode}, wanted {code}\n{out}{err}")
        return out, err

    def objects(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.call(*words, "--json")[0].splitlines()]

    def posted(self, path: str = "/v1/jobs") -> list[dict[str, Any]]:
        return [body for method, where, body in self.fake.requests if method == "POST" and where == path]

    def wait_until(self, what: str, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            expect(time.monotonic() < deadline, f"waited {LIMIT_S:.0f} s: {what}")
            time.sleep(0.02)
