"""What notebook 09a asks of recordings that others have published."""
