"""Recordings of Spark programs under other settings than usual (CounterMiner, Table IV).

`settings` has the parameters and their ranges, `recordings` reads what ``cmlib record-tuning`` recorded, `labels`
writes and reads the text that is noted as the command of a recorded program. A NothingRecordedError if nothing is
recorded.
"""
