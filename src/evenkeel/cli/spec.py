"""`evenkeel spec`: show what a run would depend on, check it, and its JSON Schema."""

from typing import Annotated

import typer

from evenkeel.cli.run import chosen
from evenkeel.cli.save import as_json
from evenkeel.cli.screen import patience
from evenkeel.errors import InputError


def spec(
    file: Annotated[str | None, typer.Argument(metavar="SPEC.toml", help="The spec to show.")] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="A preset: digits, mnist, ….")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be repeated.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the resolved spec, a comment for each key.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema, for editors.")] = False,
) -> None:
    """Check a spec and print it with every default filled in. Without one: the defaults.

    Example:  evenkeel spec --preset digits > mine.toml
    """
    if schema and (file or preset or set_ or show):
        raise InputError("--schema: stands alone, it is the same for every spec; leave the rest out")
    if file is not None and preset is not None:
        raise InputError(f"{file} and --preset {preset}: there can be one spec; leave one of them out")
    with patience("loading"):
        from evenkeel.runs import Spec
        from evenkeel.runs.reading import read_over
        from evenkeel.runs.schema import schema as json_schema

        if schema:
            text = as_json(json_schema())
        elif file is None and preset is None:
            text = read_over(Spec, {}, set_ or (), "spec").to_toml()
        else:
            text = chosen(file, preset, set_).to_toml()
    typer.echo(text.rstrip("\n"))
