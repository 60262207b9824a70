"""Files that a task names: beside its playbook, or under a root that the operator allowed, and nowhere else.

In: a path as an author (or a template) wrote it. Out: the real path of a regular file, or the reason why not. `..`, and
symbolic links that lead out of the root, are refused: the path may be made of data from strangers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from noetl.tools.refused import Refused

PATH_CHARS_MAX = 1_024


def find_file(path: str, folder: Path | None, roots: Sequence[Path]) -> Path:
    """The file of that name under the playbook's folder or a root: the first there is. Raises Refused."""
    if not path or len(path) > PATH_CHARS_MAX or "\0" in path or ".." in PurePosixPath(path).parts:
        raise Refused("type", f'a path stays below its folder and has no "..", but this is "{path[:80]}"')
    places = [*([folder] if folder else []), *roots]
    if not places:
        raise Refused("not_found", f'there is no "{path}": the playbook has no folder and no script root is set')
    try:
        allowed = [place.resolve() for place in places]
        files = [found for root in allowed if (found := (root / path).resolve()).is_file()]
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name too long, half a character
        raise Refused("not_found", f'"{path[:80]}" is not the path of a file') from error
    if not files:
        raise Refused("not_found", f'there is no file "{path}" in: {", ".join(map(str, places))}')
    if not any(files[0].is_relative_to(root) for root in allowed):
        raise Refused("not_found", f'"{path}" leads out of the folders it may be in: {", ".join(map(str, places))}')
    return files[0]


def read_text(file: Path, bytes_max: int) -> str:
    """The text of a file that find_file gave. Its last part is no link any more; if it became one, it is refused."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
            content = opened.read(bytes_max + 1)
        if len(content) > bytes_max:
            raise Refused("limit", f"{file.name} may have {bytes_max} bytes, but has more")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise Refused("not_found", f"{file.name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Refused("type", f"{file.name} is not UTF-8 text (byte {error.start})") from error
