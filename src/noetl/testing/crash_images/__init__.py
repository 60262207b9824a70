"""What a power failure may leave on a disk: record what a program wrote, cut it off anywhere, look at what is left.

    recording(folder) → Trace       what was written, synced, named and acknowledged, in order (`trace.py`)
    drawn(trace, seed) → CrashImage the files as they may be found after a failure of power (`images.py`)

The program is the real one: SQLite's own calls are seen through a VFS in the library that Python itself uses
(`sqlite_calls.py`), those of our files through the functions of `os` (`file_calls.py`). Both do the real thing and note
it; neither changes what the program sees.

A disk keeps what was synced. Of everything else it may keep any part, in any order, cut at sectors of 512 bytes; of
names that were given and taken it may keep any of those whose folder was not synced since. A rename is kept whole or
not at all. SQLite relies on more than that in one respect, which is documented and true of every disk we know: a
write changes no byte outside its range (powersafe overwrite).
"""

from noetl.testing.crash_images.images import CrashImage, drawn
from noetl.testing.crash_images.recording import recording
from noetl.testing.crash_images.trace import Acknowledged, Trace

__all__ = ("Acknowledged", "CrashImage", "Trace", "drawn", "recording")
