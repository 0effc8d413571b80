"""The fifteen programs of AutoPerf's Table 2 judged: detectors, tables, sensitivity, and how many autoencoders."""
