"""kind: secrets — fetches a secret by policy, for refresh and rotation."""

from noetl.dsl.kinds import BOOLEAN, Field, Kind

KIND = Kind(
    name="secrets",
    summary="Refreshes or rotates a keychain entry; the value itself never becomes output.",
    fields=(
        Field(name="auth", required=True, doc="The keychain entry."),
        Field(name="action", choices=("get", "refresh", "rotate"), doc="refresh if not given."),
        Field(name="force", types=(BOOLEAN,), doc="Also when it has not expired."),
    ),
    result="{name, kind, expires_at}",
)
