"""Programs to measure, each with its recipe."""
