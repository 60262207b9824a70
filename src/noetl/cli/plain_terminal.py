"""A terminal that knows no UTF-8: our marks are printed as ASCII, letters that it lacks as their numbers.

Only for terminals: what goes into files and pipes is UTF-8 always. It is a codec of its own, for click takes a stream
that says it is ASCII for one that is set up wrongly, and writes UTF-8 to it.
"""

from __future__ import annotations

import codecs
import io

PLAINLY, CODEC = "noetl.plainly", "noetl_plain"
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MARKS = {
    "✓": "+",
    "✗": "x",
    "▸": ">",
    "■": "#",
    "…": "...",
    "↻": "~",
    "↶": "<",
    "·": "-",
    "→": "->",
    "━": "=",
    "─": "-",
    "×": "x",
    **dict.fromkeys(SPINNER, "*"),
}


def speak_plainly(stream: io.TextIOWrapper) -> None:
    """Have a stream write what its terminal can show."""
    known = stream.encoding

    def encoded(text: str, _errors: str = "strict") -> tuple[bytes, int]:
        return text.encode(known, PLAINLY), len(text)

    class Encoder(codecs.IncrementalEncoder):
        def encode(self, text: str, final: bool = False) -> bytes:
            return encoded(text)[0]

    codec = codecs.CodecInfo(encoded, codecs.lookup(known).decode, incrementalencoder=Encoder, name=CODEC)
    codecs.register_error(PLAINLY, plainly)
    codecs.register(lambda name: codec if name == CODEC else None)
    stream.reconfigure(encoding=CODEC)


def plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for letters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(MARKS.get(one) or one.encode("ascii", "backslashreplace").decode() for one in text), error.end
