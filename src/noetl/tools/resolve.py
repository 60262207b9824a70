"""kind: resolve — a reference to its data."""

from noetl.dsl.kinds import LIST, MAPPING, TEXT, Field, Kind

KIND = Kind(
    name="resolve",
    summary="Fetches what a reference stands for, checking size and checksum.",
    fields=(
        Field(name="ref", types=(MAPPING, TEXT), required=True, doc="The reference."),
        Field(name="path", doc="Only this part of the data, as a dotted path."),
        Field(name="slice", types=(LIST, TEXT), doc="Only these items of a list: [start, end]."),
    ),
    result="the data",
)
