"""CloudSuite's servers, or what stands in for them, each with its load generator outside the count."""
