"""Which parameters of Spark matter, asked directly and through events, and whether those events are causes."""
