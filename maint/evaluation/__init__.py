"""The parts of maint/evaluate."""
