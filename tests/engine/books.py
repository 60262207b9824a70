"""Short ways to write playbooks for the engine's tests."""

import textwrap

from noetl.testing.engine import Engine, Given

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"


def engine(body: str, answers: dict[str, Given] | None = None, **flags: bool) -> Engine:
    """The engine on a playbook without its head."""
    return Engine(HEAD + textwrap.dedent(body), answers, **flags)


def ran(body: str, answers: dict[str, Given] | None = None, **payload: object) -> Engine:
    """A playbook run to its end."""
    made = engine(body, answers)
    made.start(dict(payload))
    made.run()
    return made


def ctx_of(made: Engine) -> dict[str, object]:
    return made.state.ctx
