"""Tests of adaptations between hosts: each brings up a testbed of its own, and nothing may be left in it."""
