"""Keys and certificates, judged by programs that we did not write: openssl, ssh-keygen, and Flower's own reader."""

import os
import shutil
import stat
import subprocess

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.errors import InputError
from evenkeel.federation.deploy import pki, writing

HOST = "fed.example.org"


@pytest.fixture(scope="module")
def signer():
    return pki.authority("a test")


@pytest.fixture(scope="module")
def files(signer, tmp_path_factory):
    """ca.pem, ca.key, server.pem, server.key, and other.pem of another authority."""
    folder = tmp_path_factory.mktemp("pki")
    own, other = pki.server(signer, HOST), pki.authority("somebody else")
    for name, content in {"ca": signer, "server": own, "other": other}.items():
        (folder / f"{name}.pem").write_bytes(content.public)
        writing.write_private(folder / f"{name}.key", content.private)
    return folder


def openssl(*words):
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl")
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


def verified(folder, *words, ca="ca.pem", what="server.pem"):
    return openssl("verify", "-x509_strict", "-CAfile", folder / ca, *words, folder / what).returncode == 0


@pytest.mark.parametrize("name", [HOST, "localhost"])
def test_the_server_certificate_is_good_for_its_names(files, name):
    assert verified(files, "-purpose", "sslserver", "-verify_hostname", name)


def test_the_server_certificate_is_good_for_loopback(files):
    assert verified(files, "-verify_ip", "127.0.0.1")


@pytest.mark.parametrize("name", ["example.org", "evil.fed.example.org", "fed.example.org.evil.net"])
def test_the_server_certificate_is_good_for_no_other_name(files, name):
    assert not verified(files, "-verify_hostname", name)


def test_another_authority_does_not_vouch_for_it(files):
    assert not verified(files, ca="other.pem")


def test_a_server_key_cannot_sign_certificates(files, tmp_path):
    """Somebody who steals server.key must not be able to make certificates that sites accept."""
    stolen = pki.Pair((files / "server.key").read_bytes(), (files / "server.pem").read_bytes())
    (tmp_path / "forged.pem").write_bytes(pki.server(stolen, HOST).public)
    chain = ["-untrusted", files / "server.pem", "-CAfile", files / "ca.pem"]
    assert openssl("verify", *chain, tmp_path / "forged.pem").returncode != 0


def test_an_address_may_be_the_host(signer, tmp_path):
    (tmp_path / "ca.pem").write_bytes(signer.public)
    (tmp_path / "server.pem").write_bytes(pki.server(signer, "192.0.2.7").public)
    assert verified(tmp_path, "-verify_ip", "192.0.2.7")
    assert not verified(tmp_path, "-verify_ip", "192.0.2.8")


def test_a_pair_that_does_not_match_is_refused(signer):
    with pytest.raises(InputError, match=r"ca\.key: does not belong to ca\.pem"):
        pki.server(pki.Pair(pki.authority("x").private, signer.public), HOST)


def test_it_is_good_today_for_a_site_whose_clock_is_an_hour_behind(files):
    import time

    assert verified(files, "-attime", str(int(time.time()) - 3600))
    assert not verified(files, "-attime", str(int(time.time()) + 86400 * (pki.SERVER_DAYS + 1)))


def test_flower_takes_a_sites_key_and_its_signature():
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key
    from flwr.supercore.primitives.asymmetric import sign_message, uses_nist_ec_curve, verify_signature

    key = load_ssh_private_key(pki.site("north").private, None)
    assert uses_nist_ec_curve(key.public_key())
    assert verify_signature(key.public_key(), b"now", sign_message(key, b"now"))


def test_the_public_half_is_the_one_that_ssh_keygen_finds(tmp_path):
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("no ssh-keygen")
    pair = pki.site("north")
    writing.write_private(tmp_path / "key", pair.private)
    found = subprocess.run([program, "-y", "-f", tmp_path / "key"], capture_output=True, check=True).stdout
    assert found.split()[:2] == pair.public.split()[:2]


def test_every_key_is_another_one():
    assert len({pki.site("a").private for _ in range(5)}) == 5
    assert len({pki.secret() for _ in range(5)}) == 5


def test_a_private_file_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        writing.write_private(tmp_path / "key", b"secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert not writing.loose(tmp_path / "key")


def test_a_private_file_is_never_written_over(tmp_path):
    writing.write_private(tmp_path / "key", b"first")
    with pytest.raises(FileExistsError):
        writing.write_private(tmp_path / "key", b"second")
    assert (tmp_path / "key").read_bytes() == b"first"


@pytest.mark.parametrize(
    "content",
    [b"", b"ssh-rsa AAAA", b"\x00\xff", b"ecdsa-sha2-nistp384 AAAA", b"-----BEGIN OPENSSH PRIVATE KEY-----\n"],
)
def test_what_is_no_ecdsa_public_key_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.pub").write_bytes(content)
    with pytest.raises(InputError, match="must be an ECDSA public key"):
        pki.public_key(tmp_path / "x.pub")


def test_a_private_key_given_for_a_public_one_is_refused(tmp_path):
    (tmp_path / "x.pub").write_bytes(pki.site("x").private)
    with pytest.raises(InputError, match="must be an ECDSA public key"):
        pki.public_key(tmp_path / "x.pub")
