"""The papers' formulas in plain loops: slow, obvious, and what the fast code is held to."""
