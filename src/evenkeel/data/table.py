"""A user's table, one row a client, into checked columns: `load` or `parse`, then `Sheet.numbers` and `Sheet.texts`.

Polars reads CSV and Parquet at full speed. Only when something is wrong does a slower reader look for the place, so
that every error is one line that names the file, the line, the value, the rule and the remedy.
"""

import contextlib
import csv
import io
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.errors import InputError, nearest

MAX_BYTES = 2**30
MAX_ROWS = 20_000_000
FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip
MISSING = {"", "na", "n/a", "null", "none", "-", "."}
_BOM = b"\xef\xbb\xbf"
_ESCAPE_FREE = "\u200c\u200d"  # the joiners inside emoji and Indic names


def shown(value: object, most: int = 60) -> str:
    r"""A value as one printable line: control characters escaped, long text cut.

    >>> shown("a\nb\x1b[31m"), shown("x" * 5000, most=8)
    ('a\\nb\\x1b[31m', 'xxxxxxx…')
    """
    text = str(value)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(c if c.isprintable() or c in _ESCAPE_FREE else ascii(c)[1:-1] for c in text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a column of numbers must keep to: lowest and highest value, and what to do when one does not."""

    lowest: float
    highest: float = np.inf
    above: bool = False
    says: str
    remedy: str

    def keeps(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which values are finite and keep the rule.

        >>> RULES["size"].keeps(np.array([0.0, 1.0, np.nan])).tolist()
        [False, True, False]
        """
        low = x > self.lowest if self.above else x >= self.lowest
        return low & (x <= self.highest) & np.isfinite(x)


RULES = {
    "loss": Rule(lowest=0, says="must be at least 0", remedy="give a loss, not a score or a log-likelihood"),
    "accuracy": Rule(lowest=0, highest=1, says="must lie in [0, 1]", remedy="divide percentages by 100"),
    "size": Rule(lowest=0, above=True, says="must be above 0", remedy="drop clients that have no data"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The rows of one file: `frame` as read, `records` their 0-based numbers in the file, `place` says where one is."""

    name: str
    frame: pl.DataFrame
    records: NDArray[np.int64]
    place: Callable[[int], str]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the file's order."""
        return self.frame.columns

    def take(self, mask: NDArray[np.bool_]) -> "Sheet":
        """The rows where the mask holds; they keep their place in the file."""
        return replace(self, frame=self.frame.filter(pl.Series(mask)), records=self.records[mask])

    def error(self, row: int, says: str) -> InputError:
        """An error about one row, that names file and line."""
        return InputError(f"{self.name}, {self.place(int(self.records[row]))}: {says}")

    def series(self, column: str, option: str) -> pl.Series:
        """One column as read; an unknown name is refused with the nearest known one."""
        if column not in self.columns:
            known = [shown(c) for c in self.columns if len(c) < 100][:20]
            raise InputError(
                f"{self.name}: no column '{shown(column)}' in the first line; {nearest(shown(column), known)}; "
                f"{option} NAME picks another column"
            )
        return self.frame[column]

    def numbers(self, column: str, rule: Rule, option: str) -> NDArray[np.float64]:
        """One column as finite numbers that keep the rule.

        >>> parse(b"client,loss\\na,0.5\\nb,x\\n", name="t.csv", kind="csv").numbers("loss", RULES["loss"], "--loss")
        Traceback (most recent call last):
        evenkeel.errors.InputError: t.csv, line 3: loss = 'x': must be a number; write it like 0.5, with a point
        """
        raw = self.series(column, option)
        if not (raw.dtype.is_numeric() or raw.dtype in (pl.String, pl.Null)):
            raise InputError(f"{self.name}: column '{shown(column)}' holds {raw.dtype}: must be numbers; convert it")
        text = raw.str.strip_chars() if raw.dtype == pl.String else raw
        parsed = text.cast(pl.Float64, strict=False)
        values = parsed.fill_null(np.nan).to_numpy()
        good = rule.keeps(values)
        if not good.all():
            row = int(np.argmin(good))
            fault = _fault(text[row], parsed[row], rule)
            value = "" if raw[row] is None else f" = '{shown(raw[row])}'"
            raise self.error(row, f"{shown(column)}{value}: {fault}")
        return values

    def texts(self, column: str, option: str) -> pl.Series:
        """One column as text, none of it missing. Numbers stay as they are written."""
        raw = self.series(column, option)
        if raw.dtype.is_nested() or raw.dtype in (pl.Binary, pl.Object):
            raise InputError(f"{self.name}: column '{shown(column)}' holds {raw.dtype}: must be text; convert it")
        text = raw.cast(pl.String)
        empty = (text.is_null() | (text.str.strip_chars() == "")).fill_null(value=True).to_numpy()
        if empty.any():
            row = int(np.argmax(empty))
            raise self.error(row, f"{shown(column)} is empty: every row needs one; fill it in or drop the row")
        return text

    def clients(self, column: str, option: str) -> list[str]:
        """The clients' names, each only once.

        >>> parse(b"client,loss\\na,1\\na,2\\n", name="t.csv", kind="csv").clients("client", "--client")
        Traceback (most recent call last):
        evenkeel.errors.InputError: t.csv, line 3: client 'a' is there twice, first at line 2: one row a client; \
for several runs in one table give --compare COLUMN or --only COLUMN=VALUE
        """
        names = self.texts(column, option)
        again = (~names.is_first_distinct()).to_numpy()
        if again.any():
            row = int(np.argmax(again))
            first = names.index_of(names[row])
            raise self.error(
                row,
                f"{shown(column)} '{shown(names[row])}' is there twice, first at "
                f"{self.place(int(self.records[first or 0]))}: one row a client; for several runs in one table give "
                "--compare COLUMN or --only COLUMN=VALUE",
            )
        return names.to_list()


def _fault(raw: object, value: float | None, rule: Rule) -> str:
    """Why one cell is not a number that keeps the rule."""
    if raw is None or str(raw).lower() in MISSING:
        return "a number is missing; fill it in or drop the client"
    if value is None:
        return "must be a number; write it like 0.5, with a point"
    if np.isnan(value):
        return "must be a number, not NaN; look why the client has none, or drop it"
    if np.isinf(value):
        return "must be finite; look why the client diverged, or drop it"
    return f"{rule.says}; {rule.remedy}"


def load(path: str, *, kind: str | None = None) -> Sheet:
    """Read a CSV, TSV, Parquet or JSON-lines file; `-` is standard input. `kind` overrules the extension."""
    name = "standard input" if path == "-" else shown(path, most=200)
    data = _bytes(path, name)
    return parse(data, name=name, kind=kind or _kind(path, name, data))


def _bytes(path: str, name: str) -> bytes:
    """The whole file, or a clear line why it cannot be read."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin else b""
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file; {_neighbour(path)}") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a directory; give one table in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name}: cannot be read ({reason.lower()}); give a readable file") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{name}: larger than {MAX_BYTES / 2**30:g} GiB; give one row a client, or use Parquet")
    return data


def _neighbour(path: str) -> str:
    """The nearest file in the same directory."""
    try:
        files = sorted(shown(f.name) for f in Path(path).parent.iterdir() if f.suffix in FORMATS)
    except (OSError, ValueError):
        return "its directory does not exist either"
    return nearest(shown(Path(path).name), files[:20]) if files else "give a CSV, TSV, Parquet or JSON-lines file"


def _kind(path: str, name: str, data: bytes) -> str:
    """The format by the extension; by the content for pipes."""
    suffix = Path(path).suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if path != "-" and Path(path).is_file():
        raise InputError(
            f"{name}: unknown extension '{shown(suffix)}'; known: {', '.join(FORMATS)}; --format csv, tsv, parquet or "
            "jsonl says what it is"
        )
    if data.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if data.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[") else "csv"


def parse(data: bytes, *, name: str, kind: str) -> Sheet:
    """The bytes of a table as a sheet. Raises InputError, and nothing else, whatever the bytes.

    >>> parse(b"client,loss\\na,0.5\\n", name="t.csv", kind="csv").frame.rows()
    [('a', '0.5')]
    """
    if not data.strip():
        raise InputError(f"{name}: empty; give a table with a header and one row a client")
    sheet = PARSERS[kind](data, name)
    if not 0 < sheet.frame.height <= MAX_ROWS:
        says = "a header without rows" if sheet.frame.height == 0 else f"more than {MAX_ROWS:,} rows"
        raise InputError(f"{name}: {says}; give one row a client")
    return sheet


def _text(data: bytes, name: str) -> str:
    """UTF-8 text without NUL; a byte-order mark is dropped."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}: UTF-16 text: must be UTF-8; save it again as «CSV UTF-8»")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file again as UTF-8"
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise InputError(f"{name}, line {line}: NUL byte: a text table has none; export it again as UTF-8 text")
    return text


def _csv(data: bytes, name: str, separator: str = "") -> Sheet:
    """Every cell as text. Without a separator, the one of `,` `;` tab `|` that the header has most of."""
    text = _text(data, name)
    text = (text if "\n" in text else text.replace("\r", "\n")).lstrip("\r\n")
    skipped = data.removeprefix(_BOM).count(b"\n", 0, len(data.removeprefix(_BOM)) - len(text.encode()))
    head = text.split("\n", 1)[0]
    comma = separator or max(",;\t|", key=head.count)
    try:
        # The mark in front keeps polars from taking the first bytes for a compressed file's.
        frame = pl.read_csv(_BOM + text.encode(), has_header=False, infer_schema=False, separator=comma)
    except _REFUSALS as error:
        raise _csv_trouble(text, name, comma, skipped) or _unreadable(name, error) from None
    if frame[:, -1].has_nulls() and (short := _csv_trouble(text, name, comma, skipped)):
        raise short
    header = [(cell or "").strip() for cell in frame.row(0)]
    frame = frame[1:].rename(dict(zip(frame.columns, _header(header, name), strict=True)))
    full = ~frame.select(pl.all_horizontal(pl.all().fill_null("") == "")).to_series()
    rows = frame.filter(full)
    place = _csv_place(text, comma, skipped)
    return Sheet(name=name, frame=rows, records=np.arange(rows.height), place=place)


def _header(cells: Sequence[str], name: str) -> list[str]:
    """The columns' names; those without one (such as a data frame's index) are numbered."""
    names = [cell or f"column {i}" for i, cell in enumerate(cells, start=1)]
    twice = next((c for i, c in enumerate(names) if c in names[:i]), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f"{name}: column '{shown(twice)}' is there twice in the first line; rename one")
    return names


def _csv_records(text: str, separator: str) -> Iterable[tuple[int, list[str]]]:
    """Each record that is not blank, with the 1-based line it starts on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    start, limit = 1, csv.field_size_limit(MAX_BYTES)
    try:
        for row in reader:
            if any(row):
                yield start, row
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _csv_place(text: str, separator: str, skipped: int) -> Callable[[int], str]:
    def place(record: int) -> str:
        """The line of the 0-based record; the header is the first of all."""
        with contextlib.suppress(csv.Error):  # polars is the laxer of the two
            for line, _ in itertools.islice(_csv_records(text, separator), record + 1, record + 2):
                return f"line {line + skipped}"
        return f"row {record + 1}"

    return place


def _csv_trouble(text: str, name: str, separator: str, skipped: int) -> InputError | None:
    """The first line that has too many or too few fields, or a quote that does not close."""
    width, line = 0, 0
    try:
        for line, row in _csv_records(text, separator):
            width = width or len(row)
            if len(row) != width:
                return InputError(
                    f"{name}, line {line + skipped}: {len(row)} fields where the first line has {width}; put quotes "
                    f"round text that holds {separator!r}"
                )
    except csv.Error:
        says = 'a quote " is not closed, or text follows it; put quotes round the whole field and double those inside'
        return InputError(f"{name}, after line {line + skipped}: {says}")
    return None


def _jsonl(data: bytes, name: str) -> Sheet:
    """One object a line, each with the keys of the first. Numbers stay as they are written, as in CSV."""
    columns: dict[str, list[object]] = {}
    lines: list[int] = []
    for number, line in enumerate(_text(data, name).split("\n"), start=1):
        if not line or line.isspace():
            continue
        record = _json_record(line, name, number)
        columns = columns or {key: [] for key in record}
        if record.keys() != columns.keys():
            odd = min(record.keys() ^ columns.keys())
            raise InputError(f"{name}, line {number}: key '{shown(odd)}': every line needs the keys of the first")
        for key, value in record.items():
            columns[key].append(value)
        lines.append(number)
    frame = pl.DataFrame({key: _json_series(cells) for key, cells in columns.items()})
    return Sheet(name=name, frame=frame, records=np.arange(frame.height), place=lambda i: f"line {lines[i]}")


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def _json_record(line: str, name: str, number: int) -> dict[str, object]:
    try:
        record = _DECODER.decode(line)
        if "\\u" in line:  # half of a surrogate pair passes as JSON; no file or terminal can hold it
            json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or getattr(error, "reason", "too deep")
        raise InputError(f"{name}, line {number}: not JSON ({shown(reason)}); write one whole object a line") from None
    if isinstance(record, dict) and record:
        return record
    remedy = "save it as JSON lines" if isinstance(record, list) else "write {'client': …, 'loss': …}"
    raise InputError(f"{name}, line {number}: '{shown(line.strip())}': must be one object a line; {remedy}")


def _json_series(cells: list[object]) -> pl.Series:
    """Text as it is; what is neither text, number nor null as its JSON, so that an error can show it."""
    texts = [c if c is None or isinstance(c, str) else json.dumps(c) for c in cells]
    return pl.Series(texts, dtype=pl.String)


def _parquet(data: bytes, name: str) -> Sheet:
    """Read in a process of its own: on damaged bytes the Rust reader may print, or abort the whole process."""
    if not data.startswith(b"PAR1"):
        raise InputError(f"{name}: not a Parquet file (it must start with PAR1); --format says what it is")
    child = [sys.executable, "-P", "-c", _PARQUET_CHILD, str(MAX_ROWS + 1)]
    done = subprocess.run(child, input=data, capture_output=True, check=False)  # noqa: S603 - our own text
    if done.returncode != 0:
        raise InputError(f"{name}: damaged Parquet, or too large for the memory; export it again")
    frame = pl.read_ipc(io.BytesIO(done.stdout))
    return Sheet(name=name, frame=frame, records=np.arange(frame.height), place=lambda i: f"row {i + 1}")


_PARQUET_CHILD = """
import io, sys
import polars as pl
pl.read_parquet(io.BytesIO(sys.stdin.buffer.read()), n_rows=int(sys.argv[1])).write_ipc(sys.stdout.buffer)
"""


def _unreadable(name: str, error: BaseException) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"{name}: damaged, or not CSV ({shown(reason)}); export it again")


# A panic of the Rust reader is a BaseException of its own; on bytes of a stranger it is bad input as well.
_REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError, MemoryError)
PARSERS: Mapping[str, Callable[[bytes, str], Sheet]] = {
    "csv": _csv, "tsv": partial(_csv, separator="\t"), "jsonl": _jsonl, "parquet": _parquet,
}  # fmt: skip
