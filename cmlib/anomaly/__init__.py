"""Find performance anomalies of a new version without ever having seen one (AutoPerf)."""
