"""What was promised, and which tests show it."""
