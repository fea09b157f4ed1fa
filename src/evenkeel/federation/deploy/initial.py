"""`federate init`: keys, certificates, configuration, units and the page that says what goes where.

It can be run again: what is there stays, what is missing is made, and nothing is written over. So a site is added by
one more `--site`, and a certificate renewed by moving server.pem and server.key away.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenkeel.errors import InputError
from evenkeel.federation.deploy import commands, layout, pki, proxy, units, writing
from evenkeel.federation.deploy.layout import Server, Site
from evenkeel.federation.deploy.letter import letter, site_letter

SITE_PORT = 9094  # where a site's own two processes meet, on its loopback
_AT_SITE = Path("/srv/evenkeel")  # where the units expect a site's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A site to be: its own public key, if it made one; `port`, `data` and `part` as in `layout.Site`."""

    public: Path | None = None
    port: int = SITE_PORT
    data: str = "data.py"
    part: str = ""


def init(root: Path, *, host: str, port: int, inner: int, sites: Mapping[str, Wanted]) -> tuple[Server, list[Path]]:
    """Make what is missing; hand back the federation and the files that were written.

    A site whose public key is given keeps its private key to itself; for the others one is made.
    """
    server = Server(root=checked_place(root.absolute()), host=host, port=port, inner=inner)
    bundled = writing.bundle(server.app)
    made: list[Path | None] = []
    if not (server.file("federation.toml")).exists():
        writing.make_folder(server.folder, 0o700)
        server.folder.chmod(0o700)
    made.append(_settings(server))
    made += _certificates(server)
    made += [
        writing.once(server.file("proxy.conf"), proxy.configuration(server)),
        *(_secret(server.file(name)) for name in ("executor.secret", "control.secret")),
    ]
    for name, wanted in sites.items():
        made += _site(server, name, wanted, bundled)
    made += _units(server)
    (server.root / "SEND.md").write_text(letter(server, writing.digest(bundled)), "utf-8")
    for folder in (server.logs, server.file("home")):
        writing.make_folder(folder, 0o700)
    return server, [file for file in made if file is not None]


def checked_place(root: Path) -> Path:
    """A path that means the same in nginx's configuration, in a unit and in a node's settings."""
    bad = sorted(set(str(root)) & set("\"'$\\{};#\n"))
    if bad or not str(root).isprintable():
        raise InputError(f"{root}: holds {' '.join(bad) or 'control characters'}; give a path of plain characters")
    return root


def _settings(server: Server) -> Path | None:
    """The three settings; other ones than before are another federation."""
    file = server.file("federation.toml")
    if file.exists():
        before = layout.opened(server.root)
        for key in ("host", "port", "inner"):
            if getattr(before, key) != getattr(server, key):
                rule = f"this federation was made with {getattr(before, key)}"
                raise InputError(f"--{key} {getattr(server, key)}: {rule}; give that, or another folder")
        return None
    return writing.once(file, layout.settings(host=server.host, port=server.port, inner=server.inner))


def _certificates(server: Server) -> list[Path | None]:
    """The authority and the server's certificate; the authority's key may have been put away."""
    file = server.file
    made: list[Path | None] = []
    if not file("ca.pem").exists():
        signer = pki.authority(f"evenkeel federation at {server.host}", _held(file("ca.key")))
        made += [
            writing.once(file("ca.key"), signer.private, private=True),
            writing.once(file("ca.pem"), signer.public),
        ]
    if file("server.pem").exists():
        if not pki.covers(file("server.pem").read_bytes(), server.host):
            raise InputError(
                f"{file('server.pem')}: is not for {server.host}; move it and server.key away and try again"
            )
        return made
    if not file("ca.key").exists():
        raise InputError(f"{file('ca.key')}: no such file; put the authority's key back to sign a new certificate")
    signer = pki.Pair(file("ca.key").read_bytes(), file("ca.pem").read_bytes())
    own = pki.server(signer, server.host, _held(file("server.key")))
    made += [writing.once(file("server.key"), own.private, private=True), writing.once(file("server.pem"), own.public)]
    return made


def _site(server: Server, name: str, wanted: Wanted, bundled: bytes) -> list[Path | None]:
    """A site's folder; where its public key is known already it was sent, and is left alone."""
    known, folder, given = server.keys / f"{name}.pub", server.site(name), wanted.public
    if known.exists():
        if given is not None and pki.public_key(given).split()[:2] != known.read_bytes().split()[:2]:
            raise InputError(f"--site {name}: has another key already ({known}); revoke it first, or give another name")
        return []
    if any(server.keys.glob(f"{name}.revoked*")):
        raise InputError(f"--site {name}: was revoked, and its name is not given out again; give the site a new name")
    key = None if given is not None else pki.site(name, _held(folder / "key"))
    public = key.public if key else pki.public_key(given) + f" {name}\n".encode()  # type: ignore[arg-type]
    writing.make_folder(folder, 0o700)
    folder.chmod(0o700)
    how: dict[str, Any] = {"port": wanted.port, "data": wanted.data, "part": wanted.part}
    site = Site(root=folder, name=name, address=server.address, **how)
    texts = {
        "site.toml": layout.settings(name=name, address=site.address, **how, fewest=1),
        "README.md": site_letter(site, writing.digest(bundled), own_key=key is None),
        f"evenkeel-{name}.service": site_unit(name),
        "data.py": own_data(server.root),
    }
    made = [writing.once(folder / file, text) for file, text in texts.items()]
    made += [writing.once(folder / "ca.pem", server.file("ca.pem").read_bytes()), _secret(folder / "executor.secret")]
    made.append(writing.once(folder / "app.fab", bundled))
    made += [writing.once(folder / "app" / file, held) for file, held in writing.contents(bundled).items()]
    if key:
        made.append(writing.once(folder / "key", key.private, private=True))
    return [*made, writing.once(known, public)]  # last: a site with a public key has all it needs


def own_data(root: Path) -> str:
    """The loader that the coordinator suggests, or the template."""
    file = root / "data.py"
    return file.read_text("utf-8") if file.is_file() else writing.template("data.py")


def _held(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def _secret(file: Path) -> Path | None:
    return None if file.exists() else writing.once(file, pki.secret(), private=True)


def site_unit(name: str) -> str:
    """The unit of a site: `join`, restarted for ever."""
    place = _AT_SITE / name
    command = ("/opt/evenkeel/bin/evenkeel", "federate", "join", str(place))
    return units.unit(f"evenkeel-{name}", f"evenkeel site {name}", command, {}, place)


def _units(server: Server) -> list[Path | None]:
    """The server's three units, with the paths of this machine."""
    made: list[Path | None] = []
    told = {"proxy": "evenkeel: the only way in from outside", "superlink": "evenkeel: SuperLink, on loopback only",
            "executor": "evenkeel: runs the server's app"}  # fmt: skip
    for name, command in commands.server_commands(server).items():
        text = units.unit(
            f"evenkeel-{name}",
            told[name],
            command,
            {} if name == "proxy" else commands.server_environment(server.file("home")),
            server.folder if name != "executor" else server.root,
            after="evenkeel-superlink.service" if name == "executor" else "",
            low_port=name == "proxy" and server.port < 1024,
        )
        made.append(writing.once(server.file("units") / f"evenkeel-{name}.service", text))
    return made
