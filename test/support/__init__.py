"""The common part of several kinds of tests."""
