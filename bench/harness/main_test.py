"""The command: what is wrong with its arguments ends it with a message, before anything is measured."""

from __future__ import annotations

import subprocess
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "maint" / "bench"


class MainTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "mpi" / "bin").mkdir(parents=True)
        mpiexec = self.folder / "mpi" / "bin" / "mpiexec"
        mpiexec.touch(mode=0o755)

    def test_a_prefix_without_an_mpi_is_named(self) -> None:
        mpi, missing = str(self.folder / "mpi"), str(self.folder / "missing")
        for words in ([missing, "--no-stock"], [mpi, "--stock", missing]):
            command = [str(BENCH), *words, "--only", "reports", "--output", str(self.folder / "output")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"bench: {missing}/bin/mpiexec is not there: is that an installed MPI?\n")


if __name__ == "__main__":
    unittest.main()
