"""The commands and how they end: 0 done, 2 the input is wrong, 3 a run failed and can be resumed, 130 interrupted."""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import evenkeel
from evenkeel.cli import (
    audit,
    compare,
    data,
    doctor,
    federate,
    listing,
    phi,
    report,
    reproduce,
    run,
    spec,
    sweep,
    tune,
    watch,
)
from evenkeel.cli.screen import complain
from evenkeel.errors import InputError, RunFailedError

UsageFault: type[Any] = typer.BadParameter.__mro__[2]  # click's ClickException; newer typers carry their own click


class Commands(TyperGroup):
    """The group of commands. Every way to start it (shell, `python -m`, tests) ends in `main` and its exit codes."""

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - the signature is Typer's
        """Run a command; one line on standard error for whatever is wrong, never a traceback for the user's input."""
        try:
            code = super().main(*args, **{**extra, "prog_name": "evenkeel", "standalone_mode": False})
            sys.stdout.flush()
        except InputError as error:
            code = complain(str(error), 2)
        except RunFailedError as error:
            code = complain(str(error), 3)
        except UsageFault as error:
            code = complain(error.format_message() or "something is missing; see --help", 2)
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except BrokenPipeError:
            code = _reader_left()
        sys.exit(code if isinstance(code, int) else 0)


def _reader_left() -> int:
    """Whoever read our output (`| head`) has enough: be quiet, also when Python flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1  # as Rich and Typer do


app = typer.Typer(
    cls=Commands,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="audit")(audit.audit)
app.command(name="list")(listing.list_)
app.command(name="compare")(compare.compare)
app.command(name="sweep")(sweep.sweep)
app.command(name="tune")(tune.tune)
app.command(name="data")(data.data)
app.command(name="phi")(phi.phi)
app.command(name="doctor")(doctor.doctor)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="report")(report.report)
app.command(name="run")(run.run)
app.command(name="spec")(spec.spec)
app.command(name="watch")(watch.watch)
app.add_typer(federate.app, name="federate")


@app.callback(invoke_without_command=True)
def evenkeel_(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Federated learning in which no client is left behind.

    Example:  evenkeel audit --example
    """
    if version:
        typer.echo(f"evenkeel {evenkeel.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode still gets every line
    app()
