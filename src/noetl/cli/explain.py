"""noetl explain: the page of a rule."""

from __future__ import annotations

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.dsl.findings import did_you_mean
from noetl.dsl.pages import all_pages, page_of


@click.command("explain")
@click.argument("code", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(code: str | None, form: str) -> int:
    """Print the page of a finding's CODE (or of a rule's name): what, why, wrong, right.

    Without a code it lists all of them.

    Example: noetl explain NL301
    """
    if code is None:
        pages = all_pages()
        listing = "\n".join(f"{page.code}  {page.severity:<7}  {page.name}: {page.summary}" for page in pages)
        click.echo(encoded([msgspec.structs.asdict(page) for page in pages]) if form == "json" else listing)
        advise("pages", code=pages[0].code)
        return exits.DONE
    page = page_of(code)
    if page is None:
        known = [one for page in all_pages() for one in (page.code, page.name)]
        advice = did_you_mean(code.upper() if code[:2].lower() == "nl" else code, known, "list them: noetl explain")
        raise click.UsageError(f'no rule is called "{code}"; {advice}')
    click.echo(encoded(msgspec.structs.asdict(page)) if form == "json" else page.text)
    advise("page", file=...)
    return exits.DONE


def encoded(data: object) -> str:
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
