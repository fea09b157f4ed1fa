"""`federate new` and `init`: whole, private, repeatable, and never over something else."""

import contextlib
import os
import stat
import subprocess
import zipfile

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.errors import InputError
from evenkeel.federation.deploy import layout, pki, writing
from evenkeel.federation.deploy.initial import Wanted
from tests.federation.places import installed_nginx, leaks, made, secrets_of

PRIVATE = ["ca.key", "server.key", "executor.secret", "control.secret"]


def everything(folder):
    """Every file with its content, the page that each init renews left out."""
    found = (f for f in folder.rglob("*") if f.is_file() and f.name != "SEND.md")
    return {str(f.relative_to(folder)): f.read_bytes() for f in found}


def test_what_new_writes_is_python_and_a_spec_that_loads(tmp_path):
    from evenkeel.runs import Spec

    writing.new(tmp_path / "demo", "demo")
    for file in (tmp_path / "demo").rglob("*.py"):
        compile(file.read_text(), str(file), "exec")
    assert Spec.load(tmp_path / "demo" / "spec.toml").task.model == "given"


def test_what_new_writes_passes_our_own_linter(tmp_path):
    import shutil

    ruff = shutil.which("ruff") or "/nonexistent"
    if not os.path.exists(ruff):  # noqa: PTH110
        pytest.skip("no ruff in this environment")
    writing.new(tmp_path / "demo", "demo")
    assert subprocess.run([ruff, "check", "--isolated", tmp_path / "demo"]).returncode == 0


def test_the_model_of_new_fits_classes_and_numbers(tmp_path):
    import torch

    writing.new(tmp_path / "demo", "demo")
    held = {}
    exec((tmp_path / "demo" / "app" / "task.py").read_text(), held)  # noqa: S102 — it is our template
    for classes, width in ((10, 10), (0, 1)):
        task = held["task"](None, (2, 4), classes)
        assert task.outputs(task.init(0), torch.zeros(3, 2, 4)).shape == (3, width)


def test_the_loader_of_new_reads_a_table(tmp_path):
    writing.new(tmp_path / "demo", "demo")
    (tmp_path / "demo" / "rows.csv").write_text("a,b,y\n0.5,1,0\n0.25,2,1\n")
    held = {"__file__": str(tmp_path / "demo" / "data.py")}
    exec((tmp_path / "demo" / "data.py").read_text(), held)  # noqa: S102
    x, y = held["load"]()
    assert x.tolist() == [[0.5, 1.0], [0.25, 2.0]]
    assert y.tolist() == [0, 1]


def test_every_secret_is_private_and_in_one_place(tmp_path):
    server, _ = made(tmp_path / "fed")
    private = [server.file(name) for name in PRIVATE]
    private += [server.site(s) / name for s in ("north", "south") for name in ("key", "executor.secret")]
    for file in private:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    for folder in (server.folder, server.site("north"), server.logs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    secrets = secrets_of(server.root)
    assert len(secrets) >= 4 + 2 * 2
    for file in server.root.rglob("*"):
        if file.is_file() and file not in private:
            assert not leaks(file.read_bytes(), secrets), file


def test_a_site_gets_its_own_secrets_and_nobody_elses(tmp_path):
    server, _ = made(tmp_path / "fed")
    north, south = secrets_of(server.site("north")), secrets_of(server.site("south"))
    assert not north & south
    assert not (north | south) & secrets_of(server.folder)


def test_init_again_changes_nothing(tmp_path):
    server, first = made(tmp_path / "fed")
    before = everything(server.root)
    _, again = made(tmp_path / "fed")
    assert first
    assert again == []
    assert everything(server.root) == before


def test_another_site_leaves_the_others_as_they_are(tmp_path):
    server, _ = made(tmp_path / "fed", sites=["north"])
    before = everything(server.root)
    made(tmp_path / "fed", sites=["east"])
    after = everything(server.root)
    assert {name: after[name] for name in before} == before
    assert server.sites == ("east", "north")
    assert "sites/east/" in (server.root / "SEND.md").read_text()


def test_a_folder_that_was_sent_away_is_not_made_again(tmp_path):
    """A second key under the same name would make two sites of one."""
    import shutil

    server, _ = made(tmp_path / "fed")
    shutil.rmtree(server.site("north"))
    _, again = made(tmp_path / "fed")
    assert again == []
    assert not server.site("north").exists()


@pytest.mark.parametrize("other", [{"host": "other.example.org"}, {"port": 9443}, {"inner": 9000}])
def test_other_settings_are_another_federation(tmp_path, other):
    made(tmp_path / "fed")
    before = everything(tmp_path / "fed")
    with pytest.raises(InputError, match="this federation was made with"):
        made(tmp_path / "fed", **other)
    assert everything(tmp_path / "fed") == before


@pytest.mark.parametrize("name", ["proxy.conf", "units/evenkeel-proxy.service"])
def test_a_file_that_was_changed_by_hand_is_not_written_over(tmp_path, name):
    server, _ = made(tmp_path / "fed")
    server.file(name).write_text("mine")
    with pytest.raises(InputError, match="is not written over"):
        made(tmp_path / "fed")
    assert server.file(name).read_text() == "mine"


def test_a_certificate_is_renewed_with_the_same_authority(tmp_path):
    server, _ = made(tmp_path / "fed")
    for name in ("server.pem", "server.key"):
        server.file(name).rename(server.file(f"old-{name}"))
    made(tmp_path / "fed")
    done = subprocess.run(["openssl", "verify", "-CAfile", server.file("ca.pem"), server.file("server.pem")])
    assert done.returncode == 0
    assert server.file("server.key").read_bytes() != server.file("old-server.key").read_bytes()


def test_without_the_authoritys_key_nothing_is_signed(tmp_path):
    server, _ = made(tmp_path / "fed")
    for name in ("server.pem", "server.key", "ca.key"):
        server.file(name).unlink()
    with pytest.raises(InputError, match="put the authority's key back"):
        made(tmp_path / "fed")


def test_a_site_may_keep_its_own_key(tmp_path):
    own = pki.site("north")
    (tmp_path / "north.pub").write_bytes(own.public)
    server, _ = made(tmp_path / "fed", sites={"north": Wanted(public=tmp_path / "north.pub")})
    assert not (server.site("north") / "key").exists()
    assert (server.keys / "north.pub").read_bytes().split()[:2] == own.public.split()[:2]
    made(tmp_path / "fed", sites={"north": Wanted(public=tmp_path / "north.pub")})


def test_another_key_under_a_known_name_is_refused(tmp_path):
    made(tmp_path / "fed")
    (tmp_path / "other.pub").write_bytes(pki.site("north").public)
    with pytest.raises(InputError, match="has another key already"):
        made(tmp_path / "fed", sites={"north": Wanted(public=tmp_path / "other.pub")})


def test_a_revoked_name_is_not_given_out_again(tmp_path):
    """Its key may still lie there: another init must not let it in."""
    from evenkeel.federation.deploy import coordinating

    server, _ = made(tmp_path / "fed")
    assert coordinating.revoke(server, "north") is False
    with pytest.raises(InputError, match="north: was revoked"):
        made(tmp_path / "fed")
    assert server.sites == ("south",)


def test_a_killed_init_is_finished_by_the_next(tmp_path, monkeypatch):
    """Stopped before each file in turn: the next init ends with a whole federation and no key under two names."""
    whole = set(everything(made(tmp_path / "whole")[0].root))
    real = writing.once
    for stop_at in range(len(whole)):
        left = [stop_at]

        def once(*given, left=left, **named):
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return real(*given, **named)

        place = tmp_path / str(stop_at)
        writing.new(place, "test")
        with monkeypatch.context() as patch:
            patch.setattr(writing, "once", once)
            with contextlib.suppress(KeyboardInterrupt):
                made(place)
        server, _ = made(place)
        assert set(everything(place)) == whole
        for name in server.sites:
            public = subprocess.run(
                ["ssh-keygen", "-y", "-f", server.site(name) / "key"], capture_output=True, check=True
            ).stdout
            assert public.split()[:2] == (server.keys / f"{name}.pub").read_bytes().split()[:2]


def test_what_a_site_reads_is_what_the_bundle_holds(tmp_path):
    server, _ = made(tmp_path / "fed")
    folder = server.site("north")
    with zipfile.ZipFile(folder / "app.fab") as bundle:
        for name in ("app.py", "task.py"):
            assert bundle.read(name) == (folder / "app" / name).read_bytes() == (server.app / name).read_bytes()


def test_the_bundle_holds_no_key_and_no_rows(tmp_path):
    server, _ = made(tmp_path / "fed")
    with zipfile.ZipFile(server.site("north") / "app.fab") as bundle:
        assert sorted(bundle.namelist()) == [".info/CONTENT", "app.py", "pyproject.toml", "task.py"]


def test_the_bundle_is_the_same_bytes_each_time(tmp_path):
    server, _ = made(tmp_path / "fed")
    os.utime(server.app / "task.py", (1, 1))
    assert writing.bundle(server.app) == (server.site("north") / "app.fab").read_bytes()


def test_nginx_takes_the_configuration_also_in_a_folder_with_blanks(tmp_path):
    nginx = installed_nginx()
    server, _ = made(tmp_path / "a folder with blanks")
    done = subprocess.run(
        [nginx, "-t", "-p", server.logs, "-c", server.file("proxy.conf"), "-e", "stderr"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_what_init_writes_can_be_read_again(tmp_path):
    server, _ = made(tmp_path / "fed", host="fed.example.org", port=443)
    assert layout.opened(server.root) == server
    site = layout.site_opened(server.site("north"))
    assert (site.name, site.address) == ("north", "fed.example.org:443")
