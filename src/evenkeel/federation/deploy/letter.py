"""The pages that people read: what to send to whom, and what a site does with it."""

from evenkeel.federation.deploy import pki
from evenkeel.federation.deploy.layout import Server, Site

_LEAVES = """\
## What leaves a site, and what can be inferred from it
Leaves, each round: the mean training loss L_i, the control gradient c_i, the model change Δu_i, and for reports the
losses and accuracies on validation and training rows. Once: the name, the numbers of rows, the shape of a row, the
number of classes. Rows and labels never leave. But c_i and Δu_i say something about the rows: the server's operator
could guess rows from them, or test whether a row was trained on. The server sees each site's vectors one by one.
"""


def letter(server: Server, app: str) -> str:
    """«What to send to whom»: renewed by every `init`."""
    until = pki.expires(server.file("server.pem").read_bytes()).date()
    rows = "".join(f"| {name} | `sites/{name}/` | {_sent(server, name)} |\n" for name in server.sites)
    return f"""\
# What to send to whom
Renewed by every `evenkeel federate init`; write nothing here.

| site | send this folder, to its engineer alone | its private key |
|---|---|---|
{rows}
**How**: by a way that only the engineer can open (in person, an encrypted archive, their own upload space), because
`key` and `executor.secret` are secrets. Afterwards delete `sites/NAME/key` here. Mistrust e-mail.
**Check together, by telephone**: the app is `{app[:16]}…` (SHA-256); `evenkeel federate join` prints the same.

## What stays
`server/` stays on the coordinating machine, mode 0700. `server/ca.key` signs server certificates and is needed again
only to renew them: keep it offline. The certificate is good until {until}. Clocks must agree within five minutes: run
NTP everywhere.

## Ports
Sites reach {server.host}, TCP port {server.port}, outwards only; nobody connects to a site. On the server open that
port and no other. Port {server.inner} is SuperLink's and listens on 127.0.0.1 only.

## A key is lost, or a site leaves
`evenkeel federate revoke . NAME`: refused from then on. For a new key give the site a new name with `init`.

{_LEAVES}"""


def _sent(server: Server, name: str) -> str:
    return "made here" if (server.site(name) / "key").exists() else "not here: the site's own, or sent already"


def site_letter(site: Site, app: str, *, own_key: bool) -> str:
    """What a site's engineer reads first."""
    key = (
        "0. Put your private key here as `key`, mode 0600: you gave us its public half.\n"
        if own_key
        else "0. `key` is this site's private key: mode 0600, in no backup that others read.\n"
    )
    return f"""\
# Site {site.name}
You take part in a federation at {site.address}. Your rows stay on this machine.

{key}1. Read `app/`: it is all the code of others that will run here, and nothing else will.
   `join` pins it by its SHA-256, `{app}`. Compare that number with the coordinator by telephone.
2. Change `data.py` so that `load()` gives your rows. It stays here; nobody else sees it.
   In `site.toml` raise `fewest`: no vector leaves that is made of fewer rows, whatever the server asks for (try 16).
3. `evenkeel federate join .` connects outwards to {site.address}, TCP. Nothing has to be open inwards.
   As a service: the folder as `/srv/evenkeel/{site.name}`, evenkeel in `/opt/evenkeel`, `evenkeel-{site.name}.service`.
4. `evenkeel federate status .` says how it goes, `evenkeel federate stop .` leaves.

{_LEAVES}"""
