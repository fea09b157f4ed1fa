"""Run folders as series of a page. Only stored files are read, so a run may still be going on, or be long dead."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenkeel.errors import InputError
from evenkeel.indices import audit
from evenkeel.report.content import Mix, Series, Weights
from evenkeel.report.writing import digits, percent, size, span
from evenkeel.runs import Run, store
from evenkeel.runs.mixture import PARTITION

LEARNED = 0.02  # share of the first mean loss that must be gone


def folders(place: Path) -> list[Path]:
    """The run in a folder, or all runs below it, in the order of their names.

    >>> folders(Path("no-such-folder"))
    Traceback (most recent call last):
    evenkeel.errors.InputError: no-such-folder: holds no run (there is no spec.toml in it or below); give a run's folder
    """
    found = below(place)
    if not found:
        raise InputError(f"{place}: holds no run (there is no {store.SPEC} in it or below); give a run's folder")
    return found


def below(place: Path) -> list[Path]:
    """The run in a folder, or all runs below it but those that only served to choose φ; none is no fault."""
    if store.begun(place):
        return [place]
    found = sorted(file.parent for file in place.glob(f"**/{store.SPEC}"))
    return [folder for folder in found if not _helper(folder, place)]


def _helper(folder: Path, place: Path) -> bool:
    """RUN-phi/phi-0.3, beside RUN."""
    home = folder.parent
    return home != place and home.name.endswith("-phi") and store.begun(home.with_name(home.name.removesuffix("-phi")))


def series(run: Run, name: str, split: str | None = None) -> Series:
    """Everything that a page shows of one run, as far as the run has come."""
    how, table, clients = run.spec.evaluation, run.losses(split), run.clients
    weighting: Any = how.weighting
    mix = _mix(run.folder / PARTITION)
    rounds = (
        run.rounds if table.split == how.split else run.rounds.drop("mean", "R", "worst20_loss", "worst20_accuracy")
    )
    return Series(
        name=name,
        table=table,
        audit=audit(table, alpha=how.alpha, beta=how.beta, phi=how.phi, weighting=weighting),
        useless=useless(run.rounds, mix),
        state=state(run),
        rounds=rounds,
        weights=_weights(clients.filter(pl.col("split") == table.split), run.rounds, panel=how.clients > 0),
        mix=mix,
        facts=_facts(run),
        spec=(run.folder / store.SPEC).read_text("utf-8"),
        again=f"evenkeel run {run.folder / store.SPEC} --out {run.folder}-again",
    )


def state(run: Run) -> str:
    """Whether a run is done, going on, or stopped, and where."""
    rounds = run.rounds
    at = 0 if rounds.is_empty() else int(rounds["round"].to_numpy()[-1])
    if run.finished:
        return f"finished, {at:,} rounds"
    word = {True: "running", False: "stopped", None: "unfinished"}[held(run.folder)]
    return f"{word}, at round {at:,} of {run.spec.rounds:,}"


def held(folder: Path) -> bool | None:
    """Whether a process holds the folder's lock; None where the system does not say.

    Read off the system's list: to try the lock would be to take it, and a run that begins just then would be refused.
    """
    try:
        lock, listed = (folder / store.LOCK).stat().st_ino, Path("/proc/locks").read_text("ascii")
    except OSError:
        return None
    return any(line.split()[5].endswith(f":{lock}") for line in listed.splitlines() if " FLOCK " in line)


def useless(rounds: pl.DataFrame, mix: Mix | None) -> str:
    """Why a run has learned nothing: its mean loss is where it began, or it guesses no better than the commonest class.

    >>> useless(pl.DataFrame({"round": [0, 9], "mean": [2.30, 2.29], "accuracy": [None, None]}), None)
    'Its mean loss is 2.29, and was 2.3 at the start.'
    >>> useless(pl.DataFrame({"round": [0, 9], "mean": [2.30, 0.7], "accuracy": [None, None]}), None)
    ''
    """
    seen = rounds.filter(pl.col("mean").is_not_null())
    if seen.height < 2:
        return ""
    first, last = seen.row(0, named=True), seen.row(-1, named=True)
    if last["mean"] > (1 - LEARNED) * first["mean"]:
        return f"Its mean loss is {digits(last['mean'])}, and was {digits(first['mean'])} at the start."
    if mix is None or last["accuracy"] is None:
        return ""
    commonest = float(mix.counts.sum(axis=0).max() / mix.counts.sum())
    if last["accuracy"] > commonest:
        return ""
    return f"Its accuracy is {percent(last['accuracy'])}: always naming the commonest class gives {percent(commonest)}."


def _weights(clients: pl.DataFrame, table: pl.DataFrame, *, panel: bool) -> Weights | None:
    """λ of those scored. Of a panel n is not the number; λ starts uniform, so that 1/λ is."""
    held = clients.filter(pl.col("lam").is_not_null())
    if held.is_empty():
        return None
    rounds = held["round"].unique().sort()
    names = held.filter(pl.col("round") == rounds[-1])["client"].to_list()
    n = round(1 / float(table["lam_max"].to_numpy()[0])) if panel else len(names)
    lam = held.filter(pl.col("client").is_in(names)).sort("round", maintain_order=True)["lam"].to_numpy()
    return Weights(round=rounds.to_numpy(), client=tuple(names), lam=lam.reshape(len(rounds), len(names)), n=n)


def _mix(file: Path) -> Mix | None:
    if not file.exists():
        return None
    try:
        table = pl.read_parquet(file.read_bytes())
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{file}: cannot be read; remove it, the report does without") from None
    if table.is_empty():
        return None
    clients = table["client"].unique(maintain_order=True).to_list()
    classes = table["class"].unique(maintain_order=True).to_list()
    counts = table["count"].to_numpy().reshape(len(clients), len(classes))
    return Mix(client=tuple(clients), classes=tuple(map(str, classes)), counts=counts.astype(np.int64))


def _facts(run: Run) -> Mapping[str, str]:
    spec, env, rounds = run.spec, run.env, run.rounds
    total = rounds.select(pl.col("seconds", "bytes_up", "bytes_down", "absent").sum()).row(0, named=True)
    asked, skipped = rounds["asked"].sum(), int(rounds["skipped"].sum() or 0)
    sessions = env["sessions"]
    threads = "one thread" if env["threads"] == 1 else f"{env['threads']} threads"
    work = f"{span(total['seconds'])} in {goes(len(sessions))}, {threads}, {env['device']}"
    lost = f"{total['absent']:,} of {asked:,} asked did not answer; {skipped:,} rounds skipped"
    return {
        "algorithm": spec.algorithm.name,
        "data": str(env["data"]),
        "seed": str(spec.seed),
        "training": work,
        "bytes up": f"{size(total['bytes_up'])}, all clients together",
        "bytes down": f"{size(total['bytes_down'])}, all clients together",
        "clients": lost,
        "started": str(sessions[0]["started"]),
        "versions": ", ".join([f"evenkeel {env['evenkeel']}", *(f"{k} {v}" for k, v in env["packages"].items() if v)]),
        "commit": str(env["commit"] or "an installed package"),
        "rows' digest": str(env["data_sha256"])[:16],
    }


def goes(n: int) -> str:
    """How often a run was begun or taken up again.

    >>> goes(1), goes(3)
    ('one go', '3 goes')
    """
    return "one go" if n == 1 else f"{n} goes"
