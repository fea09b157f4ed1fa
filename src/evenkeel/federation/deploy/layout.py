"""Where everything of a federation lies: `app/` is what sites read and run, `server/` stays, `sites/NAME/` is sent.

```
DIR/spec.toml       what is trained, and how
DIR/data.py         the loader of rows that sites are given as a start
DIR/app/            app.py, task.py, pyproject.toml: the same on every site
DIR/server/         keys, proxy.conf, units/, logs/: for the coordinating machine alone
DIR/sites/NAME/     key, certificate of the authority, settings, unit: for that site alone
DIR/SEND.md         what to send to whom
```
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenkeel.errors import InputError
from evenkeel.runs.toml import literal

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,38}[A-Za-z0-9])?")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")


LAST_RUN = "run"  # holds the path of the run's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The coordinating machine: `host` and `port` are what sites connect to, `inner` is SuperLink's, on loopback."""

    root: Path
    host: str
    port: int
    inner: int

    @property
    def folder(self) -> Path:
        """What stays on the server."""
        return self.root / "server"

    @property
    def app(self) -> Path:
        """What everybody runs."""
        return self.root / "app"

    @property
    def logs(self) -> Path:
        """What the processes say."""
        return self.folder / "logs"

    @property
    def keys(self) -> Path:
        """The sites' public keys, NAME.pub."""
        return self.folder / "sites"

    @property
    def address(self) -> str:
        """What sites connect to."""
        return f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether nobody from another machine is to connect: a rehearsal."""
        return self.host in {"127.0.0.1", "localhost"}

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites' names, ascending."""
        return tuple(sorted(file.stem for file in self.keys.glob("*.pub")))

    def site(self, name: str) -> Path:
        """What is sent to a site."""
        return self.root / "sites" / name

    def file(self, name: str) -> Path:
        """A file that stays on the server."""
        return self.folder / name

    @property
    def last_run(self) -> Path | None:
        """The folder of the run that `up` follows or followed last."""
        file = self.file(LAST_RUN)
        return Path(file.read_text("utf-8").strip()) if file.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One site: its name, the server's address, and the file that reads its rows, or its part in a rehearsal.

    `port` is where its own processes meet, on loopback; no vector leaves it that is made of fewer than `fewest` rows.
    """

    root: Path
    name: str
    address: str
    port: int
    data: str
    part: str
    fewest: int = 1

    @property
    def data_file(self) -> Path:
        """The file that reads its rows; a relative name is beside its settings."""
        return self.root / self.data

    @property
    def key(self) -> Path:
        """Its private key."""
        return self.root / "key"

    @property
    def ca(self) -> Path:
        """The certificate that the server's is checked with."""
        return self.root / "ca.pem"

    @property
    def logs(self) -> Path:
        """What its processes say."""
        return self.root / "logs"


def settings(**values: str | int) -> str:
    """Flat settings as TOML.

    >>> settings(host="a.org", port=8443)
    'host = "a.org"\\nport = 8443\\n'
    """
    return "".join(f"{key} = {literal(value)}\n" for key, value in values.items())


def opened(folder: Path) -> Server:
    """The federation that `init` wrote in a folder."""
    held = _toml(folder / "server" / "federation.toml", f"`evenkeel federate init {folder}` makes one")
    server = Server(root=folder.absolute(), **_typed(held, {"host": str, "port": int, "inner": int}, folder))
    checked_host(server.host)
    return server


def site_opened(folder: Path) -> Site:
    """The site whose folder `init` wrote and someone sent."""
    held = _toml(folder / "site.toml", "give the folder that you were sent")
    site = Site(
        root=folder.absolute(),
        **_typed(held, {"name": str, "address": str, "port": int, "data": str, "part": str, "fewest": int}, folder),
    )
    checked_name(site.name)
    if site.fewest < 1:
        raise InputError(f"{folder / 'site.toml'}: fewest = {site.fewest}: must be 1 or more rows; 16 is a start")
    return site


def checked_name(name: str) -> str:
    """A site's name: it becomes a file's name, part of a unit's, and a column of every report.

    >>> checked_name("north-2")
    'north-2'
    """
    if not _NAME.fullmatch(name):
        rule = "must be 1 to 40 letters, digits and hyphens, no hyphen at an end"
        raise InputError(f'--site {name!r}: {rule}; such as "north"')
    return name


def checked_host(host: str) -> str:
    """A host name or an IPv4 address: nothing that could mean more inside a configuration."""
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise InputError(f"--host {host!r}: must be a host name or an IPv4 address; such as fed.example.org")
    return host


def checked_port(port: int, option: str) -> int:
    """A port that may be had."""
    if not 1 <= port <= 65535:
        raise InputError(f"{option} {port}: must lie in [1, 65535]; 8443 is the default")
    return port


def _toml(file: Path, remedy: str) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{file}: no such file; {remedy}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({error}); put back what init wrote") from None


def _typed(held: dict[str, Any], kinds: dict[str, type], where: Path) -> dict[str, Any]:
    for key, kind in kinds.items():
        if not isinstance(held.get(key), kind):
            raise InputError(f"{where}: {key} = {held.get(key)!r}: must be {kind.__name__}; put back what init wrote")
    return {key: held[key] for key in kinds}
