"""Read the recordings in files of perf and other tools.

:func:`read_recordings` reads files in any known format and checks that the counts are plausible. It returns a list of
:class:`FileRecording`. RecordError names the file that cannot be read.
"""

from cmlib.io.sources.notes import NO_SHARES
from cmlib.io.sources.recordings import FileRecording, read_recordings
