"""Simulations: each draw is retained in a file as it comes, and not made again."""

from __future__ import annotations

import json
import subprocess
import threading
from datetime import date
from pathlib import Path
from typing import NamedTuple

from evaluation.workloads import Workload

# Scaling models of programs: each job has one of them, by lot.
SCALING_MODELS = ["amdahl:0.0005", "amdahl:0.005", "amdahl:0.02", "amdahl:0.1"]


class Setting(NamedTuple):
    """What a draw depends on, beside its workload and seed."""

    share: float  # of malleable jobs
    policy: str  # of elasticsim; with ":E": at that `scheduling.efficiency_idle`
    adapt_cost_s: float
    noise: float
    jobs: int  # only the first so many; 0: all


class Failed(Exception):
    """elasticsim did not do it."""


class Runs:
    """Of one elasticsim, whose version is not checked: another one gets another file."""

    def __init__(self, elasticsim: str, path: Path):
        self.elasticsim, self.path = elasticsim, path
        self.lock = threading.Lock()
        self.known: dict[tuple, dict[int, dict]] = {}
        if path.exists():
            whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
            path.write_text("".join(whole))  # without one that an interruption has left unfinished
            for line in whole:
                self.keep(json.loads(line))

    def keep(self, draw: dict) -> None:
        setting = Setting(*(draw["setting"][name] for name in Setting._fields))
        self.known.setdefault((draw["workload"], setting), {})[draw["seed"]] = draw

    def known_draws(self, workload: Workload, setting: Setting, seeds: range) -> list[dict]:
        """In the order of the seeds; nothing if one is missing."""
        known = self.known.get((workload.name, setting), {})
        return [known[seed] for seed in seeds] if set(seeds) <= set(known) else []

    def draws(self, workload: Workload, setting: Setting, seeds: range) -> list[dict]:
        """In the order of the seeds."""
        known = self.known.get((workload.name, setting), {})
        missing = [seed for seed in seeds if seed not in known]
        if missing:
            self.simulate(workload, setting, range(missing[0], missing[-1] + 1))
        known = self.known[workload.name, setting]
        return [known[seed] for seed in seeds]

    def simulate(self, workload: Workload, setting: Setting, seeds: range) -> None:
        nodes, cores = workload.machine
        policy, _, efficiency = setting.policy.partition(":")
        command = [self.elasticsim, workload.trace, "--nodes", nodes, "--cores", cores, "--policy", policy]
        command += ["--efficiency-idle", efficiency] if efficiency else []
        command += ["--malleable", setting.share, "--draws", len(seeds), "--seed", seeds[0], "--over-limit", "run"]
        command += ["--json", "--quiet", "--adapt-cost", setting.adapt_cost_s, "--noise", setting.noise]
        command += [word for model in SCALING_MODELS for word in ("--speedup", model)]
        if setting.jobs:
            command += ["--jobs", setting.jobs]
        words = [str(word) for word in command]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout and running.stderr
            for line in running.stdout:
                draw = json.loads(line) | {"workload": workload.name, "setting": setting._asdict(), "date": date.today().isoformat()}
                with self.lock, open(self.path, "a") as file:
                    file.write(json.dumps(draw) + "\n")
                    self.keep(draw)
            problems = running.stderr.read()
        if running.returncode != 0:
            raise Failed(" ".join(words) + "\n" + problems)
