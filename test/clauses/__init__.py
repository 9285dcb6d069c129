"""The clauses of the specification, and the tests that check them."""
