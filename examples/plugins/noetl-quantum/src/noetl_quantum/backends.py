"""Which backend a task runs on: what the task says is an order, what the playbook's placement says is a wish.

    executor:
      spec:
        policy:
          placement:
            quantum: { backend: [lab, single] }

There is no lab here, so tasks that name no backend of their own run on `single`. The same playbook on a worker that has
a lab would run there.
"""

from __future__ import annotations

from collections.abc import Mapping

BACKENDS = ("double", "single")  # the first is taken when nobody says anything


class NoSuchBackend(Exception):
    """The task asks for a backend that there is not."""


def choose_backend(ordered: object, placement: object) -> str:
    """A backend that is here. Raises NoSuchBackend."""
    if ordered is not None:
        if ordered not in BACKENDS:
            raise NoSuchBackend(f'there is no backend "{str(ordered)[:40]}"; there are: {", ".join(BACKENDS)}')
        return str(ordered)
    return next((str(wish) for wish in wishes(placement) if wish in BACKENDS), BACKENDS[0])


def wishes(placement: object) -> list[object]:
    """What the placement hints say for this kind, the dearest first."""
    hints = placement.get("quantum") if isinstance(placement, Mapping) else None
    wished = hints.get("backend") if isinstance(hints, Mapping) else None
    return list(wished) if isinstance(wished, list | tuple) else [wished]
