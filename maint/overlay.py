#!/usr/bin/python3
"""The overlay: what of this repository lands where in an MPICH tree, and the patches beside it.

Imported by maint/apply, maint/check-patches, maint/refresh-patch and maint/prepare; run as a program it
answers small questions (`overlay.py tree-sum TARBALL`).

Invariants
- The pinned checksum (maint/upstream.version) is what makes line numbers safe: patches carry no context, so
  a hunk is applied exactly at its line, and the lines that it replaces must be there to the letter.
- Two series: patches of maint/patches are hooks, those of maint/patches/fixes mend defects of the base, one defect each.
  One upstream file is changed by one hook patch only, and by any number of fixes.  The line numbers of every patch are
  those of the pristine file, and no two patches change the same line; no overlay file exists upstream.  Hence the
  result does not depend on the order of the series, a fix can be dropped alone, and any single file can be recomputed
  from its pristine text.
- Nothing here runs a program out of the tree, and nothing writes outside the given folder.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import messages

ROOT = Path(__file__).resolve().parent.parent
MAINT = ROOT / "maint"
PATCHES = MAINT / "patches"
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_COPY = "-"  # destination of a file that lies under src/ but stays in the repository
LEFTOVER = re.compile(r"/__pycache__/|\.(pyc|o|orig|rej)$|~$|/\.[^/]*$")


class OverlayError(Exception):
    """What is wrong with the overlay or the tarball, in words for the person who ran the command."""


def read_version() -> dict[str, str]:
    """The names and values of maint/upstream.version."""
    values: dict[str, str] = {}
    for line in (MAINT / "upstream.version").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, value = line.partition("=")
            values[name.strip()] = value.strip()
    return values


# ---------------------------------------------------------------- files that are added


@dataclass(frozen=True)
class Copy:
    """A file of ours and where it lands."""

    source: str  # path in this repository
    destination: str  # path in the MPICH tree, or NO_COPY


@dataclass(frozen=True)
class Rule:
    """One line of maint/overlay.list: files that do not land at their own path."""

    pattern: str  # a path, or a pattern in which * stands for any characters
    destination: str  # path in the MPICH tree, or NO_COPY

    def covers(self, path: str) -> bool:
        return fnmatch.fnmatchcase(path, self.pattern)


def read_rules(path: Path = MAINT / "overlay.list") -> list[Rule]:
    """maint/overlay.list, in its order."""
    rules = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        where = f"maint/overlay.list:{number}"
        if len(words) != 2:
            raise OverlayError(f"{where}: `path destination` or `pattern -` expected: {line}")
        if "*" in words[0] and words[1] != NO_COPY:
            raise OverlayError(f"{where}: a pattern has no destination but `{NO_COPY}`: {line}")
        for word in words:
            if word != NO_COPY and (word.startswith("/") or ".." in PurePosixPath(word).parts):
                raise OverlayError(f"{where}: {word} leads out of the tree")
        rules.append(Rule(*words))
    return rules


def repository_files() -> list[str]:
    """Files of this repository that git knows or would add; of an unpacked archive, all files under src/."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names: list[str] = []
    if (ROOT / ".git").exists() and shutil.which("git"):
        names = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\0")
    if not any(names):
        found = (str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*"))
        names = [name for name in found if not LEFTOVER.search(name)]
    return sorted(name for name in set(names) if name and (ROOT / name).is_file())


def place(files: list[str], rules: list[Rule]) -> list[Copy]:
    """Where the files under src/ land: where rules with their paths put them, else at their own."""
    copies = []
    for path in files:
        destinations = [rule.destination for rule in rules if rule.covers(path)] or [path]
        copies += [Copy(path, destination) for destination in dict.fromkeys(destinations)]
    return copies


def read_overlay() -> list[Copy]:
    """All files under src/ and where they land."""
    return place([path for path in repository_files() if path.startswith("src/")], read_rules())


# ---------------------------------------------------------------- patches


@dataclass
class Hunk:
    """`old` lines at line `old_start` (1-based; for an insertion: after that line) become `new`."""

    old_start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    context: bool = False
    counts: tuple[int, int] = (0, 0)

    @property
    def first(self) -> int:
        """The index of the first line that it replaces; of an insertion, of the line that follows it."""
        return self.old_start - 1 if self.old else self.old_start


@dataclass
class Patch:
    """One file of maint/patches (name `10-hydra-build.patch`) or of maint/patches/fixes (`fixes/6403-waitany.patch`)."""

    name: str
    header: list[str]
    files: dict[str, list[Hunk]]


def parse_patch(path: Path) -> Patch:
    """Read a unified diff; raises OverlayError on what is not one."""
    header: list[str] = []
    files: dict[str, list[Hunk]] = {}
    hunks: list[Hunk] | None = None
    left_old = left_new = 0
    for number, line in enumerate(read_exact(path).split("\n")[:-1], 1):
        where = f"{path.name}:{number}"
        if left_old > 0 or left_new > 0:
            assert hunks
            if line.startswith("-"):
                hunks[-1].old.append(line[1:])
                left_old -= 1
            elif line.startswith("+"):
                hunks[-1].new.append(line[1:])
                left_new -= 1
            elif line.startswith(" ") or not line:
                hunks[-1].context = True
                hunks[-1].old.append(line[1:])
                hunks[-1].new.append(line[1:])
                left_old, left_new = left_old - 1, left_new - 1
            else:
                raise OverlayError(f"{where}: the hunk ends too early")
        elif line.startswith("--- "):
            hunks = []
        elif line.startswith("+++ ") and hunks is not None:
            name = line[4:].split("\t")[0].strip()
            name = name[2:] if name.startswith("b/") else name
            if name in files:
                raise OverlayError(f"{where}: {name} appears twice in this patch")
            files[name] = hunks
        elif match := HUNK.match(line):
            if not files or hunks is None:
                raise OverlayError(f"{where}: a hunk before the name of its file")
            left_old = int(match[2] or 1) if match[2] != "0" else 0
            left_new = int(match[4] or 1) if match[4] != "0" else 0
            hunks.append(Hunk(int(match[1]), counts=(left_old, left_new)))
        elif line.startswith("\\"):
            raise OverlayError(f"{where}: files without a newline at their end are not supported")
        elif not files and hunks is None:
            header.append(line)
        elif line and not line.startswith(("diff ", "index ")):
            raise OverlayError(f"{where}: text after the hunk (a count in the @@ line is wrong?): {line}")
    if left_old or left_new:
        raise OverlayError(f"{path.name}: the last hunk is incomplete")
    return Patch(str(path.relative_to(PATCHES)), header, files)


def pieces(count: int, hunks: list[Hunk]) -> Iterator[tuple[range, Hunk | None]]:
    """What becomes of a file of `count` lines: the indices of lines that stay, then the hunk after them (None: the end)."""
    position = 0
    for hunk in hunks:
        yield range(position, hunk.first), hunk
        position = hunk.first + len(hunk.old)
    yield range(position, count), None


def apply_hunks(text: str, hunks: list[Hunk], where: str) -> str:
    """`text` with `hunks` applied at exactly their lines."""
    lines = text.split("\n")
    result: list[str] = []
    for unchanged, hunk in pieces(len(lines), hunks):
        result += lines[unchanged.start : unchanged.stop]
        if hunk is None:
            break
        start, end = hunk.first, hunk.first + len(hunk.old)
        if start < unchanged.start or end > len(lines):
            raise OverlayError(f"{where}: the hunk at line {hunk.old_start} is out of order or past the end")
        if lines[start:end] != hunk.old:
            raise OverlayError(
                f"{where}: line {hunk.old_start} of the upstream file is not the line that the patch replaces:\n"
                f"  upstream: {lines[start]}\n  patch:    {hunk.old[0]}"
            )
        result += hunk.new
    return "\n".join(result)


def merge_hunks(owned: list[tuple[str, list[Hunk]]], where: str) -> list[Hunk]:
    """The hunks of several patches (name, hunks) for one file, in the order of its lines.

    Raises OverlayError if two patches change the same line, or insert at the same place."""
    merged = sorted(
        ((hunk.first + (0.5 if hunk.old else 0), name, hunk) for name, hunks in owned for hunk in hunks),
        key=lambda entry: (entry[0], entry[1]),
    )
    for (start, name, hunk), (next_start, next_name, _) in zip(merged, merged[1:]):
        if name != next_name and next_start < start + max(len(hunk.old), 0.5):
            raise OverlayError(f"{where}:{hunk.old_start}: changed by {name} and by {next_name}")
    return [hunk for _, _, hunk in merged]


def hunks_by_file(patches: list[Patch]) -> dict[str, list[tuple[str, list[Hunk]]]]:
    """Path -> (name of the patch, its hunks) for each patch that changes it."""
    owned: dict[str, list[tuple[str, list[Hunk]]]] = {}
    for patch in patches:
        for path, hunks in patch.files.items():
            owned.setdefault(path, []).append((patch.name, hunks))
    return owned


def hook_patches(owned: list[tuple[str, list[Hunk]]]) -> list[str]:
    """The names of those patches that are no fixes."""
    return [name for name, _ in owned if not name.startswith("fixes/")]


def read_series() -> list[str]:
    """Names in maint/patches/series, in order."""
    lines = (PATCHES / "series").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def read_patches() -> list[Patch]:
    """All patches of the series."""
    patches = []
    for name in read_series():
        if not (PATCHES / name).is_file():
            raise OverlayError(f"maint/patches/series names {name}, which does not exist")
        patches.append(parse_patch(PATCHES / name))
    return patches


# ---------------------------------------------------------------- the pristine release


def verify_tarball(tarball: Path) -> None:
    """Raise OverlayError unless `tarball` is the pinned release (see upstream.version)."""
    version = read_version()
    try:
        found = hashlib.sha256(tarball.read_bytes()).hexdigest()
    except OSError as error:
        raise OverlayError(f"cannot read {tarball}: {error.strerror}") from error
    if found == version["sha256"]:
        return
    try:
        content = tree_sum(tarball)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise OverlayError(
            f"{tarball} is not the pinned MPICH {version['version']}: it is no readable tar file.\n"
            f"  sha256 expected {version['sha256']}\n  sha256 found    {found}"
        ) from error
    if content != version["tree_sha256"]:
        raise OverlayError(
            f"{tarball} is not the pinned MPICH {version['version']}.\n"
            f"  sha256 expected {version['sha256']}\n  sha256 found    {found}"
        )


def tree_sum(tarball: Path) -> str:
    """A sum over names, contents and execute bits of what `tarball` holds, however it is packed."""
    entries = []
    with tarfile.open(tarball) as archive:
        for member in archive:
            path = "/".join(PurePosixPath(member.name).parts[1:])
            if member.isreg():
                stream = archive.extractfile(member)
                assert stream
                mark = "x" if member.mode & 0o100 else "-"
                entries.append(f"{path} {mark} {hashlib.sha256(stream.read()).hexdigest()}")
            elif member.issym():
                entries.append(f"{path} l {member.linkname}")
    return hashlib.sha256("\n".join(sorted(entries)).encode()).hexdigest()


def unpack(tarball: Path, folder: Path) -> None:
    """Unpack the release into `folder` (made new), without its top folder."""
    folder.mkdir(parents=True)
    command = ["tar", "-x", "-f", str(tarball), "-C", str(folder), "--strip-components=1", "--no-same-owner"]
    if subprocess.run(command, check=False).returncode != 0:
        raise OverlayError(f"cannot unpack {tarball} into {folder} (disk full?)")


class Pristine:
    """Upstream files by path, read out of the tarball in one go and stored in a folder."""

    def __init__(self, tarball: Path, folder: Path):
        self.tarball, self.folder = tarball, folder
        self.names: set[str] | None = None
        self.absent: set[str] = set()

    def list(self) -> set[str]:
        """All regular files of the release."""
        if self.names is None:
            with tarfile.open(self.tarball) as archive:
                self.names = {"/".join(PurePosixPath(m.name).parts[1:]) for m in archive if not m.isdir()}
        return self.names

    def fetch(self, paths: set[str]) -> None:
        """Make sure that the files at `paths` lie in the folder; those absent upstream stay absent."""
        missing = {path for path in paths - self.absent if not (self.folder / path).is_file()}
        if not missing:
            return
        with tarfile.open(self.tarball) as archive:
            for member in archive:
                path = "/".join(PurePosixPath(member.name).parts[1:])
                if path in missing and member.isreg():
                    stream = archive.extractfile(member)
                    assert stream
                    write_file(self.folder / path, stream.read(), member.mode & 0o777)
        self.absent |= {path for path in missing if not (self.folder / path).is_file()}

    def text(self, path: str) -> str:
        """The upstream text of `path`; OverlayError if upstream has no such file."""
        self.fetch({path})
        try:
            return read_exact(self.folder / path)
        except FileNotFoundError as error:
            raise OverlayError(f"upstream has no file {path}") from error

    def mode(self, path: str) -> int:
        return (self.folder / path).stat().st_mode & 0o777


# ---------------------------------------------------------------- small helpers


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="elastic-mpich-") as folder:
        yield Path(folder)


def read_exact(path: Path) -> str:
    """The text of a file with its line ends and its odd bytes as they are."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def write_file(path: Path, content: bytes, mode: int) -> None:
    """Write in one step: a reader sees the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.chmod(mode)
    temporary.replace(path)


def wanted_files(pristine: Pristine) -> dict[str, tuple[bytes, int]]:
    """What the overlay makes of a pristine tree: path -> content and mode of each file that it sets."""
    wanted: dict[str, tuple[bytes, int]] = {}
    patches = read_patches()
    pristine.fetch({path for patch in patches for path in patch.files})
    for path, owned in hunks_by_file(patches).items():
        names = ", ".join(name for name, _ in owned)
        text = apply_hunks(pristine.text(path), merge_hunks(owned, path), f"{names}: {path}")
        wanted[path] = (text.encode("utf-8", "surrogateescape"), pristine.mode(path))
    for copy in read_overlay():
        if copy.destination == NO_COPY:
            continue
        source = ROOT / copy.source
        if copy.destination in wanted:
            raise OverlayError(f"two sources for {copy.destination}")
        wanted[copy.destination] = (source.read_bytes(), 0o755 if os.access(source, os.X_OK) else 0o644)
    wanted |= {path: (content, 0o644) for path, content in generated_files().items()}
    return wanted


def generated_files() -> dict[str, bytes]:
    """Path -> content of the files that are generated of src/pmi/messages.txt."""
    try:
        return messages.landing()
    except messages.SchemaError as error:
        raise OverlayError(str(error)) from error


def fail(program: str, error: OverlayError) -> int:
    """Report `error` the way every maint program does; the exit code to use."""
    print(f"{program}: {error}", file=sys.stderr)
    return 1


def main() -> int:
    try:
        if len(sys.argv) == 3 and sys.argv[1] == "tree-sum":
            print(tree_sum(Path(sys.argv[2])))
        elif len(sys.argv) == 3 and sys.argv[1] == "verify":
            verify_tarball(Path(sys.argv[2]))
        else:
            print("usage: overlay.py tree-sum TARBALL | verify TARBALL", file=sys.stderr)
            return 2
    except OverlayError as error:
        return fail("overlay", error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
