"""A private apt: Debian packages without touching the machine's apt settings, lists and caches.

The sources file is made from the machine's own Debian entry (deb822 *.sources or one-line *.list), so that a mirror and
its key are what the administrator chose; lists and caches lie in a folder of the caller's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path("/etc/apt/sources.list")
SOURCES_PARTS = Path("/etc/apt/sources.list.d")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def stanzas(text: str) -> list[dict[str, str]]:
    """The paragraphs of a deb822 file, field names in lower case, comments dropped."""
    result: list[dict[str, str]] = []
    current: dict[str, str] = {}
    key = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if current:
                result.append(current)
            current, key = {}, ""
        elif line[0] in " \t" and key:
            current[key] += "\n" + line
        elif ":" in line:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            current[key] = value.strip()
    return result


def one_line_entries(text: str) -> list[dict[str, str]]:
    """The `deb` lines of a sources.list as deb822 fields."""
    entries = []
    for line in text.splitlines():
        match = re.match(r"\s*deb(?:-src)?\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)", line.split("#", 1)[0])
        if not match:
            continue
        entry = {"uris": match[2], "suites": match[3], "components": match[4].strip()}
        for option in (match[1] or "").split():
            name, _, value = option.partition("=")
            if name.lower() in ("signed-by", "trusted"):
                entry[name.lower()] = value
        entries.append(entry)
    return entries


def machine_entries() -> list[dict[str, str]]:
    """All apt entries of this machine."""
    entries: list[dict[str, str]] = []
    parts = sorted(SOURCES_PARTS.glob("*")) if SOURCES_PARTS.is_dir() else []
    for path in [SOURCES, *parts]:
        try:
            if path.suffix == ".sources":
                entries += [e for e in stanzas(path.read_text()) if e.get("enabled", "yes").lower() != "no"]
            elif path.suffix == ".list":
                entries += one_line_entries(path.read_text())
        except OSError:
            continue
    return entries


def source_entry(suite: str, kind: str) -> str:
    """A deb822 paragraph of type `kind` (deb, deb-src) for `suite`, from the machine's own entry where it has one."""
    chosen = {"uris": "http://deb.debian.org/debian", "signed-by": KEYRING}
    for entry in machine_entries():
        main = "main" in entry.get("components", "").split()
        if main and suite in entry.get("suites", "").split():
            chosen = entry
            break
    lines = [f"Types: {kind}", f"URIs: {chosen['uris']}", f"Suites: {suite}", "Components: main"]
    lines += [f"{n}: {chosen[n.lower()]}" for n in ("Signed-By", "Trusted") if chosen.get(n.lower())]
    return "\n".join(lines) + "\n"


class AptError(Exception):
    """Why packages cannot be got."""


def debian_packages(names: Sequence[str], version: str, suite: str = "bookworm") -> list[Path]:
    """Debian's packages of this version as files: from the user's cache, or got into it.  Nothing is installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elastic-mpich" / "debian"

    def found(name: str) -> list[Path]:
        return list(cache.glob(f"{name}_{version}-*.deb"))

    missing = [name for name in names if not found(name)]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="elastic-apt-") as folder:
            apt = PrivateApt(Path(folder) / "apt", suite, "deb")
            if not apt.run("update") or not apt.run("download", *missing, cwd=cache):
                raise AptError(f"Debian's packages cannot be got: {apt.problem}")
    if missing := [name for name in names if not found(name)]:
        raise AptError(f"Debian has {' '.join(missing)} in another version than {version}")
    return [found(name)[0] for name in names]


class PrivateApt:
    """apt-get with settings of its own in `folder` (which must be empty)."""

    def __init__(self, folder: Path, suite: str, kind: str):
        self.folder = folder
        self.problem = ""  # why the last call failed, one line
        for name in ("lists/partial", "cache/archives/partial", "parts"):
            (folder / name).mkdir(parents=True)
        (folder / "parts" / "private.sources").write_text(source_entry(suite, kind))

    def run(self, *arguments: str, cwd: Path | None = None) -> bool:
        """`apt-get arguments...`; whether it worked."""
        if not shutil.which("apt-get"):
            self.problem = "no apt-get here"
            return False
        options = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": str(self.folder / "parts"),
            "Dir::State::Lists": str(self.folder / "lists"),
            "Dir::Cache": str(self.folder / "cache"),
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": "30",
            "Acquire::https::Timeout": "30",
            "APT::Update::Error-Mode": "any",  # else `update` succeeds without a network
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        }
        command = ["apt-get", "-q"]
        for name, value in options.items():
            command += ["-o", f"{name}={value}"]
        command += arguments
        done = subprocess.run(command, cwd=cwd or self.folder, capture_output=True, text=True, check=False)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line[:2] in ("E:", "W:")]
        self.problem = "" if done.returncode == 0 else f"apt-get {arguments[0]}: {lines[-1] if lines else 'failed'}"
        return done.returncode == 0
