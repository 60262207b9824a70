"""noetl init: a project to begin with, in a folder: a playbook, its test, settings, schema.

Whatever is there stays: files of the same names are refused, all of them named, before anything is written. README.md
and .gitignore are in most folders already: the first is left alone, the second gets the lines that it lacks. If
writing fails in the middle, what was written is taken back.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from noetl.cli import exits
from noetl.cli.advice import advise, quoted
from noetl.cli.files import write_whole
from noetl.cli.options import format_option
from noetl.cli.schema import schema_text
from noetl.cli.words import as_json, clean, plural, table
from noetl.projects import PROJECTS, Project, project_files

SCHEMA_FILE = "noetl.schema.json"
HOME = ".noetl"
README, IGNORED = "README.md", ".gitignore"
YIELDING = (README, IGNORED)  # are not in the way
PURPOSES = {
    "noetl.toml": "settings of this project",
    IGNORED: "runs and databases stay out of git",
    SCHEMA_FILE: "lets an editor complete and explain keys",
    README: "the commands to begin with",
    "api.py": "a small web API to try the playbook with",
}


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option(
    "--template", type=click.Choice([*PROJECTS]), default="small", show_default=True, help="What to begin with."
)
@click.option("--force", is_flag=True, help="Write over files of the same names, but for README.md and .gitignore.")
@click.option("--list", "is_list", is_flag=True, help="Say which templates there are, and write nothing.")
@format_option
def command(folder: str, template: str, force: bool, is_list: bool, form: str) -> int:
    """Begin a project: a playbook that runs, its test, settings, and a schema for editors.

    DIR is the folder, this one if not given; it is made if it is not there. A file that is there stays: init writes
    nothing then, unless --force says otherwise. A README.md is left alone, and a .gitignore gets what it lacks.

    Example: noetl init orders --template paging
    """
    if is_list:
        click.echo(listed(form))
        advise("templates", template=...)
        return exits.DONE
    project = PROJECTS[template]
    files = {**project_files(project), SCHEMA_FILE: schema_text()}
    root = root_of(folder)
    refuse(root, [*files], force)
    found = without_kept(root, files)
    write_all(root, found)
    kept = [name for name in files if name not in found]
    if form == "json":
        click.echo(as_json({"dir": str(root), "template": template, "files": [*found], "kept": kept}))
    else:
        click.echo("\n".join(told(root, template, project, [*found], kept)))
        say_next(root, project)
    return exits.DONE


def listed(form: str) -> str:
    """The templates there are."""
    if form == "json":
        rows = [{"template": name, "says": one.says, "needs": one.needs} for name, one in PROJECTS.items()]
        return as_json(rows)
    return "\n".join(table(((name, one.says) for name, one in PROJECTS.items()), ("TEMPLATE", "IS")))


def root_of(folder: str) -> Path:
    """The folder that is meant; one that no command could name afterwards is refused."""
    if not folder:
        raise click.UsageError("DIR is empty: name a folder, or leave it out for this one")
    folder.encode()  # what is no UTF-8 is refused here as everywhere
    return Path(folder)


def refuse(root: Path, names: list[str], force: bool) -> None:
    """Stop where something is in the way, before anything is written; all of it is named."""
    for folder in (root, root / "tests", root / HOME):
        if os.path.lexists(folder) and not folder.is_dir():
            raise click.UsageError(f'"{clean(str(folder))}" is no folder, and one is needed there: name another DIR')
    here = [root / name for name in names if os.path.lexists(root / name)]
    unfit = [path for path in here if not path.is_file()]
    in_the_way = unfit or [path for path in here if not force and path.name not in YIELDING]
    if in_the_way:
        named = ", ".join(f'"{clean(str(path))}"' for path in in_the_way)
        word = "is" if len(in_the_way) == 1 else "are"
        way = "" if unfit else ", or write over what is there with --force"
        raise click.UsageError(
            f"{named} {word} there already, and nothing was written: begin in another folder (noetl init DIR){way}"
        )


def without_kept(root: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """What is to be written: without a README that is there, and of the lines of a .gitignore only those it lacks."""
    found = dict(files)
    if (root / README).exists():
        del found[README]
    if (root / IGNORED).exists():
        before = (root / IGNORED).read_bytes()
        there = {line.strip() for line in before.splitlines()}
        lacking = [line for line in files[IGNORED].splitlines() if line not in there and not line.startswith(b"#")]
        if not lacking:
            del found[IGNORED]
        else:
            joint = b"" if before.endswith(b"\n") or not before else b"\n"
            found[IGNORED] = before + joint + b"".join(line + b"\n" for line in lacking)
    return found


def write_all(root: Path, found: dict[str, bytes]) -> None:
    """Write every file, or leave everything as it was."""
    made: list[Path] = []
    before: dict[Path, bytes] = {}
    try:
        for folder in (root, root / "tests", root / HOME):
            make_folder(folder, made)
        (root / HOME).chmod(0o700)  # runs hold data
        for name, data in found.items():
            path = root / name
            if path.exists():
                before[path] = path.read_bytes()
            else:
                made.append(path)
            write_whole(str(path), data)
    except BaseException as error:
        take_back(made, before)
        if isinstance(error, OSError):
            says = f"{error.strerror}; nothing was written: make room for it there, or begin in another folder"
            raise OSError(error.errno, says, str(root)) from error
        raise


def make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and those above it; the ones that are new go to `made`, outermost first."""
    for one in (*reversed(folder.parents), folder):
        if not one.is_dir():
            one.mkdir()
            made.append(one)


def take_back(made: list[Path], before: dict[Path, bytes]) -> None:
    for path, data in before.items():
        write_whole(str(path), data)
    for path in reversed(made):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


def told(root: Path, template: str, project: Project, names: list[str], kept: list[str]) -> list[str]:
    """What was written, and what each file is for; and what was left as it was."""
    purposes = PURPOSES | {
        f"{project.playbook}.yaml": "the playbook",
        f"tests/{project.playbook}.test.yaml": "its test",
    }
    wide = max(map(len, names))
    where = "this folder" if root == Path() else clean(str(root))
    head = f"began a project in {where}, template {template}: {plural(len(names), 'file')}"
    rows = [(name, purposes[name]) for name in names] + [(name, "was there, and stays as it is") for name in kept]
    return [head, *(f"  {name.ljust(wide)}  {says}" for name, says in rows)]


def say_next(root: Path, project: Project) -> None:
    """What the project needs, and the commands to go on with, in its folder."""
    if project.needs:
        click.echo(f"note: {project.needs}", err=True)
    if root != Path():
        dashed = str(root).startswith("-")  # which cd would take for an option
        click.echo(f"next: cd {quoted(f'./{root}' if dashed else str(root))}", err=True)
    advise("begun", file=f"{project.playbook}.yaml")
