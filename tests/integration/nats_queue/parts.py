"""What tests of the queue begin with."""

from noetl.testing.office import a_work


async def claimed(stage, office, **given):
    """A transport and the one job that it holds."""
    transport = await stage.transport(**given)
    await office.add(a_work())
    [work] = await transport.poll("w", 1)
    return transport, work
