"""Read recordings of Spark programs under different settings (CounterMiner, Table IV).

`settings` has the parameters and their ranges, `recordings` reads the recordings of ``cmlib record-tuning``, and
`labels` writes and reads the text that a recording has as its command. NothingRecordedError if nothing is recorded.
"""
