"""Read and write files and databases, and download files.

- ``formats`` parses the output of tools.
- ``meaning`` derives counts and metadata from parsed rows.
- ``sources`` reads recordings in files of any format.
- ``events`` contains the event tables of processors.
- ``archive`` stores recordings as files, and ``store`` stores them in a database.
- ``public`` downloads recordings that others published.

Errors are kinds of :class:`cmlib.errors.CmlibError`. Their messages name the file and the reason.
"""
