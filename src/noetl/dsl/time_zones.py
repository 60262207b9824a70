"""Whether there is a time zone of a name, and which one was probably meant.

The names are those of the IANA table that this machine has. They are facts about the world, as code pages are: read,
and the same wherever a document is checked.
"""

from __future__ import annotations

import re

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}\Z")
CHARACTERS_MAX = 64
UTC = "UTC"  # known everywhere, also where there is no table
OF_THE_MACHINE = ("posix/", "right/", "localtime", "posixrules", "Factory")  # in the folder, and no time zones


def is_time_zone(name: str) -> bool:
    import zoneinfo  # opens files: only where a document names a zone

    if name == UTC:
        return True
    if len(name) > CHARACTERS_MAX or not NAME.match(name) or name.startswith(OF_THE_MACHINE):
        return False
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):  # OSError: a folder of zones, such as Europe
        return False
    return True


def advice(name: str) -> str:
    """What to write instead: by the last word of a name, a city, or by all of it."""
    import zoneinfo

    from noetl.dsl.findings import did_you_mean

    zones = sorted(zone for zone in zoneinfo.available_timezones() if not zone.startswith(OF_THE_MACHINE))
    if not zones:
        return "this machine has no table of time zones: pip install tzdata"
    cities = {zone.rpartition("/")[2].lower(): zone for zone in zones if "/" in zone}
    city = cities.get(name.replace(" ", "_").lower())
    return f'did you mean "{city}"?' if city else did_you_mean(name, zones, "write one such as Europe/Berlin, or UTC")
