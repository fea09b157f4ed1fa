"""systemd units: each process restarted when it ends, and able to do little more than its work."""

from collections.abc import Mapping
from pathlib import Path

from evenkeel.federation.deploy.commands import Command

_UNIT = """\
# Written by `evenkeel federate init`. Install: cp {name}.service /etc/systemd/system/ && systemctl enable --now {name}
[Unit]
Description={about}
Wants=network-online.target
After=network-online.target{after}
StartLimitIntervalSec=0

[Service]
Type=exec
User=evenkeel
Group=evenkeel
UMask=0077
{environment}
ExecStart={command}
Restart=always
RestartSec=5
TimeoutStopSec=30
NoNewPrivileges=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectProc=invisible
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictSUIDSGID=yes
LockPersonality=yes
{capability}
ReadWritePaths={writes}

[Install]
WantedBy=multi-user.target
"""


def unit(
    name: str,
    about: str,
    command: Command,
    environment: Mapping[str, str],
    writes: Path,
    *,
    after: str = "",
    low_port: bool = False,
) -> str:
    """One unit's text. `writes` is the only folder it may write to; `low_port` lets it listen below 1024."""
    capability = "CAP_NET_BIND_SERVICE" if low_port else ""
    return _UNIT.format(
        name=name,
        about=about,
        after=f" {after}" if after else "",
        environment="\n".join(f"Environment={quoted(f'{k}={v}')}" for k, v in environment.items()),
        command=" ".join(quoted(word) for word in command),
        capability=f"CapabilityBoundingSet={capability}" + (f"\nAmbientCapabilities={capability}" if low_port else ""),
        writes=quoted(str(writes)),
    )


def quoted(word: str) -> str:
    """A word as systemd reads it: `%` and `$` mean themselves, blanks and quotes do not end it.

    >>> quoted("a"), quoted('a "b" 5%'), quoted("$HOME")
    ('a', '"a \\\\"b\\\\" 5%%"', '$$HOME')
    """
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if not word or set(word) & set(" \t\"'\\;") else plain
