"""Read and write files, databases and the network: recordings of counters become tables, and tables are kept.

`formats` reads what tools print, `meaning` derives what its rows mean, `events` knows events by processor, `archive`
keeps recordings as files, `store` as a database; `public` downloads recordings by others. Errors are kinds of
:class:`cmlib.errors.CmlibError`, such as RecordError and StoreError, and say which file and why.
"""
