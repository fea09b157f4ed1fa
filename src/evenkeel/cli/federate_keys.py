"""`evenkeel federate new`, `init` and `revoke`: an app, the keys, and a key that is good no longer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from evenkeel.cli.federating import Folder, needed, say
from evenkeel.cli.screen import stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.federation.deploy.initial import Wanted


def new(folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder that does not exist yet.")]) -> None:
    """Write a small app: the model, the loader of one site's rows, the spec, and a page that explains them.

    Example:  evenkeel federate new hospitals
    """
    from evenkeel.federation.deploy import writing

    place = Path(folder)
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in place.absolute().name.lower()).strip("-")
    if not name:
        raise InputError(f"{folder}: its name needs a letter or a digit; such as hospitals")
    for file in writing.new(place, name):
        stdout().print(Text(str(file)), soft_wrap=True)
    say(f"Read {place / 'README.md'}, then try: evenkeel federate up {folder} --local 3")


def init(
    folder: Folder,
    host: Annotated[str, typer.Option(help="What sites connect to: a host name or an IPv4 address.")],
    site: Annotated[
        list[str], typer.Option(metavar="NAME[=KEY.pub]", help="A site, perhaps with its own public key; repeat it.")
    ],
    port: Annotated[int, typer.Option(help="The port that sites connect to.")] = 8443,
    inner: Annotated[int, typer.Option(help="SuperLink's port, on 127.0.0.1 only.")] = 8000,
) -> None:
    """Make keys, certificates, the proxy's configuration, service units, and a page «what to send to whom».

    Run it again to add a site: what is there stays as it is.

    Example:  evenkeel federate init hospitals --host fed.example.org --site north --site south
    """
    needed()
    from evenkeel.federation.deploy import layout
    from evenkeel.federation.deploy.initial import init as make

    ports = layout.checked_port(port, "--port"), layout.checked_port(inner, "--inner")
    if ports[0] == ports[1]:
        raise InputError(f"--inner {inner}: is --port as well; give another, such as 8000")
    sites = _wanted(site)
    _, made = make(Path(folder), host=layout.checked_host(host), port=ports[0], inner=ports[1], sites=sites)
    for file in made:
        stdout().print(Text(str(file)), soft_wrap=True)
    say(f"{len(made)} files written. Read {Path(folder) / 'SEND.md'}: what to send to whom.")


def revoke(folder: Folder, site: Annotated[str, typer.Argument(metavar="SITE", help="The site's name.")]) -> None:
    """Let a site in no longer, at once where the server runs.

    Example:  evenkeel federate revoke hospitals north
    """
    needed()
    from evenkeel.federation.deploy import coordinating, layout

    now = coordinating.revoke(layout.opened(Path(folder)), site)
    say(f"{site} is refused {'from now on' if now else 'from the next start on: the server does not run'}")


def _wanted(sites: list[str]) -> "dict[str, Wanted]":
    from evenkeel.federation.deploy import layout
    from evenkeel.federation.deploy.initial import Wanted

    out: dict[str, Wanted] = {}
    for given in sites:
        name, equals, key = given.partition("=")
        layout.checked_name(name)
        if name.lower() in {other.lower() for other in out}:
            raise InputError(f"--site {name}: is given twice; names must differ in more than capitals")
        out[name] = Wanted(public=Path(key) if equals else None)
    return out
