"""Benchmarks (./run bench)."""
