"""The laws of this folder together try as many examples as CI promises."""

from importlib import import_module
from pathlib import Path

from tests.properties.laws import EXAMPLES_MIN, shares


def test_the_laws_together_try_twenty_thousand_examples() -> None:
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        import_module(f"tests.properties.{path.stem}")

    assert sum(shares.values()) >= EXAMPLES_MIN, shares
