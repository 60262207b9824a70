"""`noetl completion SHELL`: the script that a shell reads to complete noetl's verbs and options."""

import click
from click.shell_completion import ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes noetl in SHELL.

    \b
    bash   echo 'eval "$(noetl completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(noetl completion zsh)"' >> ~/.zshrc
    fish   noetl completion fish > ~/.config/fish/completions/noetl.fish

    Example: noetl completion fish > ~/.config/fish/completions/noetl.fish
    """
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"click {click.__version__} cannot complete in {shell}")
    script = completer(ctx.find_root().command, {}, "noetl", "_NOETL_COMPLETE")
    # The class's own source() would start bash to look at its version; printing a script should start nothing.
    click.echo(ShellComplete.source(script))
