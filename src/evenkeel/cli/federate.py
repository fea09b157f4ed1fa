"""`evenkeel federate …`: a real federation, from an empty folder to a run that reads like any other."""

import typer

from evenkeel.cli import federate_keys, federate_run, federate_status

app = typer.Typer(
    help="A real federation over several machines: new, init, up, join, status, stop, revoke.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
for command in (
    *(federate_keys.new, federate_keys.init, federate_run.up, federate_run.join),
    *(federate_status.status, federate_run.stop, federate_keys.revoke),
):
    app.command()(command)
