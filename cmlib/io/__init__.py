"""Files, databases, the network: what becomes a table."""
