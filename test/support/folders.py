"""Where the tests find the repository and its build."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ELASTIC_BUILD") or ROOT / "build")
PREFIX = Path(os.environ.get("ELASTIC_PREFIX") or BUILD / "install")
