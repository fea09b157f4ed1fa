"""A federation's folder for tests: `new` and `init`, in milliseconds."""

import os
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from evenkeel.federation.deploy import writing
from evenkeel.federation.deploy.initial import Wanted, init

ROOT = Path(__file__).parents[2]


def made(folder, *, host="127.0.0.1", port=8443, inner=8000, sites=("north", "south")):
    """A federation that was set up; a fresh app where there is none."""
    if not (folder / "app").exists():
        writing.new(folder, "test")
    wanted = sites if isinstance(sites, dict) else {name: Wanted() for name in sites}
    return init(folder, host=host, port=port, inner=inner, sites=wanted)


def installed_nginx():
    """The path of nginx, installed where that is possible."""
    done = subprocess.run([ROOT / "scripts" / "nginx.sh"], capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"scripts/nginx.sh: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def installed(program, package=None):
    """The path of a program of Debian's, installed where that is possible."""
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    if shutil.which(program, path=path) is None:
        apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300"]
        options = ["install", "-y", "-qq", "--no-install-recommends", package or program]
        if os.getuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip(f"no {program}: install Debian's package {package or program}")
        subprocess.run([*apt, "update", "-qq"], capture_output=True, timeout=300)
        subprocess.run([*apt, *options], capture_output=True, timeout=300)
    found = shutil.which(program, path=path)
    if found is None:
        pytest.skip(f"no {program}: Debian's package {package or program} could not be installed")
    return found


def secrets_of(folder):
    """What must appear nowhere else: the content of every secret, and the private number inside every key."""
    out = set()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix == ".secret":
            out.add(file.read_bytes())
        elif file.is_file() and (file.name == "key" or file.suffix == ".key"):
            out.add(_private_number(file.read_bytes()))
    return out


def leaks(content, secrets):
    """Which secrets a content holds, wherever its lines are broken."""
    joined = content.replace(b"\n", b"")
    return [secret for secret in secrets if secret in joined]


def _private_number(pem):
    """The part of a key's text that is the private number alone: the rest is the public half, which may be seen."""
    load = serialization.load_ssh_private_key if b"OPENSSH" in pem else serialization.load_pem_private_key
    key = load(pem, None)
    number = key.private_numbers().private_value.to_bytes((key.key_size + 7) // 8, "big")
    body = b"".join(line for line in pem.splitlines() if not line.startswith(b"---"))
    at = b64decode(body).index(number)
    return body[-(-at // 3) * 4 : (at + len(number)) // 3 * 4]
