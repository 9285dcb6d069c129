"""maint/compile-commands: an entry for each of our C++ files and for the C files that are compiled without MPICH."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_cpp_file_has_a_command(tmp_path: Path) -> None:
    target = tmp_path / "compile_commands.json"
    command = [str(ROOT / "maint" / "compile-commands"), "--build-dir", str(tmp_path / "build"), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    commands = {Path(entry["file"]): entry for entry in json.loads(target.read_text())}
    entries = {str(path.relative_to(ROOT)): entry for path, entry in commands.items() if ROOT in path.parents}
    folders = ("src/rm", "src/pm/hydra/elastic", "src/adapt_data", "src/epop", "src/mpi/adapt")
    sources = {str(p.relative_to(ROOT)) for folder in folders for p in (ROOT / folder).rglob("*.cpp")}
    fuzzers = {name for name in sources if name.endswith("_fuzz.cpp")}  # clang compiles them, where it is installed
    programs = {"src/rm/sim/bench_main.cpp"}  # measured by hand
    missing = sources - fuzzers - set(entries)
    assert len(sources) > 200 and missing == programs, sorted(missing)
    assert {name for name in entries if name.startswith(("src/adapt_data/", "src/epop/")) and name.endswith(".c")}
    assert "-std=c++20" in entries["src/rm/core/core.cpp"]["arguments"]
