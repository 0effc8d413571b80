"""Read recordings of Spark programs that ran with different settings.

The module `recordings` loads the recordings that ``cmlib record-tuning`` makes. `settings` lists the varied
parameters of Spark and converts their values to numbers. `labels` writes and parses the command line in the
metadata of a recording.
"""
