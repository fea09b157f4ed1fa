"""`federate join`: a site's two processes, for as long as it takes part."""

import zipfile
from collections.abc import Callable
from pathlib import Path

from evenkeel.errors import InputError
from evenkeel.federation.deploy import commands, writing
from evenkeel.federation.deploy.layout import Site
from evenkeel.federation.deploy.processes import Family

SECRETS = ("key", "executor.secret")


def checked(site: Site) -> str:
    """Everything that a site needs, in order, before anything is started; the app's SHA-256, which is pinned."""
    for name in SECRETS:
        file = site.root / name
        if not file.is_file():
            raise InputError(f"{file}: no such file; put it there as you were sent it")
        if writing.loose(file):
            raise InputError(f"{file}: others can read it; `chmod 600 {file}`")
    if not site.ca.is_file():
        raise InputError(f"{site.ca}: no such file; put it there as you were sent it")
    if not site.part and not site.data_file.is_file():
        raise InputError(f"{site.data_file}: no such file; it reads this site's rows, site.toml names it as `data`")
    return pinned(site)


def pinned(site: Site) -> str:
    """The SHA-256 of the bundle, once `app/` is shown to be what is in it: what was read is what will run."""
    try:
        bundled = (site.root / "app.fab").read_bytes()
        held = writing.contents(bundled)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{site.root / 'app.fab'}: cannot be read ({error}); put it there as you were sent it"
        ) from None
    folder = site.root / "app"
    here = {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if _ours(f, folder)}
    for name in sorted(held.keys() | here.keys()):
        if held.get(name) != here.get(name):
            raise InputError(
                f"{folder / name}: is not what app.fab holds; ask the coordinator for a new app and read it"
            )
    return writing.digest(bundled)


def _ours(file: Path, folder: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.relative_to(folder).parts


def start(family: Family, site: Site, pin: str) -> None:
    """Start the two processes."""
    home = commands.environment(site.root / "home")
    for name, command in commands.site_commands(site, pin).items():
        family.start(f"{site.name}-{name}", command, home, site.logs / f"{name}.log")


def join(site: Site, tell: Callable[[str], None], rest: Callable[[float], None]) -> None:
    """Take part until interrupted; what ends is started again."""
    pin = checked(site)
    with Family(site.root / "running.json") as family:
        start(family, site, pin)
        tell(f"{site.name} takes part in {site.address}; the app is {pin[:16]}…; Ctrl-C leaves")
        while True:
            rest(1.0)
            for line in family.tend():
                tell(line)
