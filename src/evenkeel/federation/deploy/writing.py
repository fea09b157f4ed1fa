"""Files of a federation: made once, never written over; private ones with mode 0600 from their first byte."""

import hashlib
import io
import os
import warnings
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from evenkeel.errors import InputError


def template(file: str, /, **words: str) -> str:
    """The text of one of the files in `template/`."""
    text = files("evenkeel.federation.deploy").joinpath("template", f"{file}.txt").read_text("utf-8")
    return Template(text).substitute(words) if words else text


def new(folder: Path, name: str) -> list[Path]:
    """A small app in a new folder."""
    refuse_taken(folder)
    texts = {
        "README.md": template("README.md", name=name),
        "spec.toml": template("spec.toml", name=name),
        "data.py": template("data.py"),
        "app/pyproject.toml": template("pyproject.toml", name=name),
        "app/app.py": template("app.py"),
        "app/task.py": template("task.py"),
    }
    return [made for file, text in texts.items() if (made := once(folder / file, text))]


def refuse_taken(folder: Path) -> None:
    """A new folder, or an empty one."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already and not empty; give a folder that does not exist yet")


def once(file: Path, content: str | bytes, *, private: bool = False) -> Path | None:
    """Write a file that is not there; one with the same content stays, another content is refused."""
    wanted = content.encode() if isinstance(content, str) else content
    try:
        if file.exists():
            if file.read_bytes() != wanted:
                raise InputError(f"{file}: holds something else and is not written over; move it away and try again")
            return None
        make_folder(file.parent)
        if private:
            write_private(file, wanted)
        else:
            with file.open("xb") as out:
                out.write(wanted)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({(error.strerror or str(error)).lower()})") from None
    return file


def write_private(file: Path, content: bytes) -> None:
    """A new file that only its owner reads, from its first byte on; one that exists is never touched."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def loose(file: Path) -> bool:
    """Whether others than the owner may read a file."""
    return bool(file.stat().st_mode & 0o077)


def make_folder(folder: Path, mode: int = 0o755) -> None:
    """A folder with its parents; one that exists keeps its mode."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({(error.strerror or str(error)).lower()})") from None


def bundle(app: Path) -> bytes:
    """The app as Flower sends it: a zip of its Python and TOML files. What is wrong with it is said in one line."""
    from flwr.cli.build import build_fab_from_disk

    if not (app / "pyproject.toml").is_file():
        raise InputError(f"{app}: holds no app (there is no pyproject.toml); `evenkeel federate new DIR` writes one")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "GitWildMatchPattern", DeprecationWarning)  # Flower's, about its pathspec
            bundled: bytes = build_fab_from_disk(app)
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{app}: cannot be bundled: {reason}") from None
    return bundled


def digest(bundled: bytes) -> str:
    """SHA-256 of a bundle: what a site pins and two engineers compare on the telephone."""
    return hashlib.sha256(bundled).hexdigest()


def contents(bundled: bytes) -> Mapping[str, bytes]:
    """The files of a bundle, to be read by people; Flower's own list of them is left out."""
    with zipfile.ZipFile(io.BytesIO(bundled)) as held:
        return {name: held.read(name) for name in sorted(held.namelist()) if not name.startswith(".info/")}
