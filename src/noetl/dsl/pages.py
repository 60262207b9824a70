"""The documentation of rules, made from the rules themselves: for `noetl explain` and `docs/rules/`."""

from __future__ import annotations

import re

import msgspec

from noetl.dsl.rules import MODULES, by_code, module

SECTION = re.compile(r"^(Wrong|Right|Also right|Also wrong):$", re.MULTILINE)
INDENTED = re.compile(r"(?:^    .*\n(?:^\s*\n)*)+", re.MULTILINE)


class Page(msgspec.Struct, frozen=True):
    """One rule's page."""

    code: str
    name: str
    severity: str
    also: tuple[str, ...]  # the severities that some findings have instead
    spec: tuple[str, ...]
    summary: str
    text: str

    @property
    def severities(self) -> str:
        """All that its findings may have: "error, warning"."""
        return ", ".join((self.severity, *self.also))


def page_of(code: str) -> Page | None:
    """The page of a rule, by its code or its name."""
    found = by_code(code)
    return make_page(found.RULE, found.__doc__ or "") if found else None


def all_pages() -> list[Page]:
    return [make_page(rule.RULE, rule.__doc__ or "") for rule in map(module, MODULES)]


def make_page(rule: msgspec.Struct, doc: str) -> Page:
    facts = msgspec.structs.asdict(rule)
    body = doc.strip()
    summary = body.split("\n\n", 1)[0].replace("\n", " ")
    text = f"{facts['code']} {facts['name']} ({', '.join((facts['severity'], *facts['also']))})\n\n{body}"
    return Page(facts["code"], facts["name"], facts["severity"], facts["also"], facts["spec"], summary, text)


def as_markdown(page: Page) -> str:
    """A page for the documentation: examples as YAML blocks."""
    body = page.text.partition("\n\n")[2] + "\n"
    body = INDENTED.sub(lambda match: fenced(match.group()), body)
    body = SECTION.sub(r"**\1:**", body).strip()
    return f"# {page.code} {page.name}\n\nSeverity: {page.severities}.\n\n{body}\n"


def fenced(block: str) -> str:
    lines = [line[4:] for line in block.rstrip().splitlines()]
    return "```yaml\n" + "\n".join(lines) + "\n```\n\n"
