"""Results on disk: whole or not at all."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenkeel.errors import InputError


def as_json(result: Mapping[str, Any]) -> str:
    """JSON in ASCII, without NaN: the same text for a terminal, a pipe and a file.

    >>> as_json({"region": "Øst"})
    '{\\n  "region": "\\\\u00d8st"\\n}'
    """
    return json.dumps(result, indent=2, allow_nan=False)


def target(where: str, name: str, *, page: bool = False) -> Path:
    """The file that `--out` means: itself if it ends in .json (or .html, for a `page`), else one in that directory.

    >>> target("runs/first", "audit").as_posix(), target("a.html", "audit", page=True).as_posix()
    ('runs/first/audit.json', 'a.html')
    """
    from evenkeel.data.table import shown

    path, here = Path(where), shown(where, most=200)
    ends = (".json", ".html") if page else (".json",)
    if path.suffix and path.suffix not in ends and not path.is_dir():
        raise InputError(f"--out {here}: must end in {' or '.join(ends)}, or be a directory; give such a name")
    file = path if path.suffix in ends and not path.is_dir() else path / f"{name}.json"
    if file.exists() and not file.is_file():
        raise InputError(f"--out {here}: there is something there that is no file; give another name")
    return file


def save(file: Path, content: str | bytes) -> None:
    """Write the file whole: into a neighbour first, which then takes its place in one step."""
    from evenkeel.data.table import shown

    neighbour = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with neighbour.open("xb") as part:
                part.write(content if isinstance(content, bytes) else f"{content}\n".encode())
                part.flush()
                os.fsync(part.fileno())
            neighbour.replace(file)
        finally:
            neighbour.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"--out {shown(file, most=200)}: cannot be written ({reason}); give another place") from None
