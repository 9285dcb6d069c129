"""The conformance suite's harness: reads the test list, builds, runs, checks and reports."""
