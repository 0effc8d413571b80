"""Read and write files, databases and the network: recordings become tables, and tables are kept."""
