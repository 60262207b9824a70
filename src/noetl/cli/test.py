"""noetl test: rehearse playbooks in simulated time, and compare what comes with what tests expect."""

from __future__ import annotations

from collections.abc import Sequence

import click

from noetl.cli.options import format_option, settings_of


@click.command("test")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("--name", "-k", "words", metavar="TEXT", multiple=True, help="Only tests whose name has this text.")
@click.option("--update", "is_updating", is_flag=True, help="Rewrite what failing tests expect to what came.")
@click.option("--coverage", "is_covering", is_flag=True, help="List the arcs and rules that no test took.")
@click.option("--coverage-min", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail below this coverage.")
@click.option("--junit", "junit_file", metavar="FILE", type=click.Path(), help="Write JUnit XML, for CI.")
@click.option("--quiet", "-q", is_flag=True, help="Only what failed, and the last line.")
@format_option
def command(
    paths: Sequence[str],
    words: Sequence[str],
    is_updating: bool,
    is_covering: bool,
    coverage_min: float | None,
    junit_file: str | None,
    quiet: bool,
    form: str,
) -> int:
    """Run the tests of playbooks.

    PATH is a file, or a folder below which tests are looked for: *.test.yaml, *_test.yaml, and whatever says `kind:
    PlaybookTest` in a folder called tests. Without one, the current folder. Nothing outside is touched: tasks answer
    what the test says, waits take no time.

    Exit code: 0 all passed, 1 some failed, 2 a document or a playbook is wrong, or there is no test.

    Example: noetl test tests/ --coverage --junit report.xml
    """
    from noetl.cli.testing import Options, run_tests

    options = Options(
        words=tuple(words),
        is_updating=is_updating,
        is_covering=is_covering,
        coverage_min=coverage_min,
        junit_file=junit_file,
        is_quiet=quiet,
        form=form,
    )
    return run_tests(settings_of(None, None), list(paths) or ["."], options)
