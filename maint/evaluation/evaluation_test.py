"""python3 -m unittest discover -s maint/evaluation -p '*_test.py' -t maint"""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from evaluation import break_even, live, mixtures, report, workloads
from evaluation.runs import Failed, Runs, Setting
from evaluation.workloads import DAY_S, TraceJob, Workload

# Takes the options of elasticsim, counts its calls, and lets turnaround rise with the cost of an adaptation.
FAKE = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
of = lambda name: words[words.index(name) + 1]
open(sys.argv[0] + ".calls", "a").write(of("--seed") + " " + of("--draws") + "\\n")
turnaround = 1000 if of("--policy") == "easy" else 400 + float(of("--adapt-cost"))
for seed in range(int(of("--seed")), int(of("--seed")) + int(of("--draws"))):
    print(json.dumps({"seed": seed, "mean_turnaround_ms": turnaround}))
sys.exit(3 if of("--malleable") == "0.9" else 0)
"""


class WindowTest(unittest.TestCase):
    def test_the_most_loaded_days_are_chosen(self) -> None:
        jobs = [TraceJob(100 + day * DAY_S, 50 if day in (4, 5) else 1, str(day)) for day in range(10)]
        self.assertEqual([job.line for job in workloads.most_loaded(jobs, 2)], ["4", "5"])
        self.assertEqual([job.line for job in workloads.most_loaded(jobs, 3)], ["3", "4", "5"], "the first of equals")
        self.assertEqual(workloads.most_loaded(jobs, 28), jobs)

    def test_a_window_with_many_jobs_is_shorter(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            lines = [f"{i} {i * 100} -1 10 {i % 4 + 1} -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n" for i in range(12000)]
            (folder / "busy.swf").write_text("; a comment\n" + "".join(lines))
            busy = workloads.window(Workload("busy", folder / "busy.swf", (4, 1)), folder)
            self.assertEqual(busy.name, "busy-window")
            self.assertEqual(len(workloads.read_jobs(busy.trace)), 7 * DAY_S // 100)


class RunsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.made = tempfile.TemporaryDirectory()
        self.addCleanup(self.made.cleanup)
        self.folder = Path(self.made.name)
        self.fake = self.folder / "fake"
        self.fake.write_text(FAKE)
        self.fake.chmod(0o755)
        self.workload = Workload("w", self.folder / "w.swf", (4, 1))
        self.setting = Setting(0.5, "fill", 0.001, 0.05, 0)

    def runs(self) -> Runs:
        return Runs(str(self.fake), self.folder / "results.jsonl")

    def calls(self) -> list[str]:
        return Path(f"{self.fake}.calls").read_text().splitlines()

    def test_what_is_known_is_not_simulated_again(self) -> None:
        self.runs().draws(self.workload, self.setting, range(1, 3))
        draws = self.runs().draws(self.workload, self.setting, range(1, 5))
        self.assertEqual([draw["seed"] for draw in draws], [1, 2, 3, 4])
        self.assertEqual(self.calls(), ["1 2", "3 2"])
        self.runs().draws(self.workload, self.setting._replace(policy="easy"), range(1, 2))
        self.assertEqual(len(self.calls()), 3)
        self.assertEqual(len(self.runs().known_draws(self.workload, self.setting, range(1, 5))), 4)
        self.assertEqual(self.runs().known_draws(self.workload, self.setting, range(1, 6)), [], "one is missing")
        self.assertEqual(len(self.calls()), 3)

    def test_a_draw_that_is_written_by_half_is_made_again(self) -> None:
        self.runs().draws(self.workload, self.setting, range(1, 3))
        path = self.folder / "results.jsonl"
        path.write_text(path.read_text()[:-20])
        draws = self.runs().draws(self.workload, self.setting, range(1, 3))
        self.assertEqual([draw["seed"] for draw in draws], [1, 2])
        self.assertEqual(len(self.runs().known[self.workload.name, self.setting]), 2)

    def test_a_failure_is_reported(self) -> None:
        with self.assertRaises(Failed):
            self.runs().draws(self.workload, self.setting._replace(share=0.9), range(1, 2))

    def test_the_break_even_cost_is_found(self) -> None:
        text = break_even.cost(self.runs(), self.workload, self.setting, self.easy())
        low, high = (float(word) for word in text.removesuffix(" s").split(" to "))
        self.assertTrue(low <= 600 <= high <= 1.2 * low, text)

    def easy(self) -> list[dict]:
        return self.runs().draws(self.workload, self.setting._replace(policy="easy"), range(1, 4))


class ReportTest(unittest.TestCase):
    def test_differences_are_draw_by_draw(self) -> None:
        draws = [{"mean_turnaround_ms": 60000 * value} for value in (9, 90, 900)]
        others = [{"mean_turnaround_ms": 60000 * value} for value in (10, 100, 1000)]
        metric = report.METRICS["turnaround, min"]
        self.assertEqual(report.percent_cell(draws, others, metric), "-10.0 ± 0.0 %")
        self.assertEqual(report.percent_cell(draws, others, report.METRICS["its p99, min"]), "", "no job is rigid")


class LiveTest(unittest.TestCase):
    def test_more_processes_are_faster(self) -> None:
        speeds = [live.speed(size) for size in range(1, live.CORES + 1)]
        self.assertEqual(speeds[0], 1)
        self.assertEqual(speeds, sorted(speeds))

    def test_a_scaled_day_fits_the_machine(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            jobs = live.scaled_day(workloads.synthetic(Path(name) / "synthetic.swf", 1500, 1), 40)
        self.assertEqual(len(jobs), 40)
        self.assertTrue(all(1 <= job.size <= live.CORES and live.RUN_S[0] <= job.run_s <= live.RUN_S[2] for job in jobs))
        offered = sum(job.size * job.run_s for job in jobs) / (jobs[-1].submit_s * live.CORES)
        self.assertAlmostEqual(offered, live.LOAD, delta=0.02)

    def test_what_a_start_takes_at_a_size_between(self) -> None:
        starts = {1: 100.0, 4: 160.0, 16: 400.0}
        for size, wanted in {1: 100, 2: 120, 4: 160, 10: 280, 16: 400}.items():
            self.assertAlmostEqual(live.between(starts, size), wanted)


class MixtureTest(unittest.TestCase):
    def mixture(self, cores: int, *programs: mixtures.Program) -> mixtures.Mixture:
        mixture = mixtures.Mixture(1)
        mixture.cores, mixture.programs = cores, list(programs)
        return mixture

    def test_a_draw_keeps_its_bounds_and_can_be_repeated(self) -> None:
        for seed in range(1, 51):
            mixture = mixtures.Mixture(seed)
            self.assertEqual(mixture.programs, mixtures.Mixture(seed).programs)
            self.assertTrue(2 <= len(mixture.programs) <= 8 <= mixture.cores <= 24)
            self.assertTrue(all(1 <= program.end <= 32 and 0 <= program.serial <= 0.1 for program in mixture.programs))

    def test_the_best_sizes_make_the_product_of_speeds_greatest(self) -> None:
        linear = [mixtures.Program(0, end, 1000, True) for end in (2, 6, 16)]
        self.assertEqual(self.mixture(16, *linear).best(), [2, 6, 8])
        serial = mixtures.Program(0.1, 32, 1000, True)
        mixture = self.mixture(8, serial, linear[2])
        every = [[size, 8 - size] for size in range(1, 8)]
        self.assertAlmostEqual(mixture.value(mixture.best()), max(map(mixture.value, every)))

    def test_cores_that_nobody_can_use_are_anywhere(self) -> None:
        mixture = self.mixture(16, mixtures.Program(0, 2, 1000, True), mixtures.Program(0, 3, 1000, False))
        self.assertEqual(mixtures.Outcome(mixture, [8, 3], [1, 1], [0, 0]).faults(), [])
        self.assertEqual(mixtures.Outcome(mixture, [2, 1], [1, 1], [0, 0]).faults(), ["sizes off by -2"])

    def test_faults_are_named(self) -> None:
        linear = [mixtures.Program(0, 32, 1000, True)] * 2
        mixture = self.mixture(16, *linear)
        self.assertEqual(mixtures.Outcome(mixture, [9, 7], [8, 8], [1, 1]).faults(), [])
        wanted = ["sizes off by +2, -2", "9 changes of a job", "2 later changes of a job"]
        self.assertEqual(mixtures.Outcome(mixture, [10, 6], [9, 1], [0, 2]).faults(), wanted)


if __name__ == "__main__":
    unittest.main()
