"""`evenkeel phi`: the φ that balances absolute and relative unfairness, from a run with φ = 0."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import patience, plain, stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.data.shards import Federation
    from evenkeel.phi import Choice, Measured
    from evenkeel.protocol import Transport
    from evenkeel.runs import Observer, Spec
    from evenkeel.sets import AmbiguitySet
    from evenkeel.tasks import Task

CHOICE = "choice.json"  # in RUN-phi: `evenkeel report RUN` draws it
_FAMILY = ("scaff-pd", "scaff-pd-ia")


def phi(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    check: Annotated[
        str | None, typer.Option(metavar="LIST", help="Also train at these, such as 0,0.1,0.2, and measure.")
    ] = None,
    ties: Annotated[
        str, typer.Option(metavar="HOW", help="free: the paper's formula; held: worst-off clients stay tied.")
    ] = "free",
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Choose phi from the run's own losses, gradients and curvature at phi = 0.

    A run with another phi is first trained again at 0, in a folder beside it. Indices here are of training losses.

    Example:  evenkeel phi runs/digits --check 0,0.1,0.2,0.4
    """
    grid = _grid(check)
    with patience("loading"):
        from evenkeel.phi import choose_phi, measure
        from evenkeel.runs import Run
        from evenkeel.runs.display import display
        from evenkeel.runs.nodes import ended
        from evenkeel.runs.observers import Quiet

        done = Run.open(run)
        study = Study.of(
            done.spec, Path(run).with_name(f"{Path(run).name}-phi"), Quiet() if json else display(stderr())
        )
    if not done.finished:
        raise InputError(f"{run}: is not finished; continue it with: evenkeel run --resume {run}")
    at_zero = study.phi_of(done.spec) == 0
    theta, lam = (done.theta, done.lam) if at_zero else study.train(0.0)
    with patience("asking the clients for curvature"):
        choice = choose_phi(study.transport, theta, study.A, study.B, lam=lam, ties=ties)
    rows = measure(study.train, study.transport, study.A, study.B, grid=grid, expansion=choice.expansion)
    ended(study.transport)
    found = as_json(facts(run, choice, rows))
    save(study.folder / CHOICE, found)
    if json:
        typer.echo(found)
        return
    _tell(choice, rows, study.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A spec whose φ varies: its sets A and B, its clients, and where the runs of other φ are kept."""

    spec: "Spec"
    folder: Path
    observer: "Observer"
    federation: "Federation"
    task: "Task"
    transport: "Transport"
    A: "AmbiguitySet"
    B: "AmbiguitySet"

    @classmethod
    def of(cls, spec: "Spec", folder: Path, observer: "Observer") -> "Study":
        """The parts of a spec of the Scaff-PD family; every client is asked, whatever its attendance in training."""
        from evenkeel.runs import algorithm_of, federation_of, task_of, transport_of
        from evenkeel.sets import Integrated

        if spec.algorithm.name not in _FAMILY:
            raise InputError(f"algorithm = {spec.algorithm.name!r}: has no phi; give a run of {' or '.join(_FAMILY)}")
        plain_ = spec if spec.algorithm.name == "scaff-pd" else spec.replace("algorithm.phi", 0.0)
        federation = federation_of(spec)
        task = task_of(spec, federation)
        ambiguity = algorithm_of(plain_, federation).ambiguity  # type: ignore[attr-defined]  # both of the family have it
        A, B = (ambiguity.A, ambiguity.B) if isinstance(ambiguity, Integrated) else (ambiguity, ambiguity)
        everyone = transport_of(spec.replace("clients.absent", 0.0), task, federation)
        return cls(
            spec=spec, folder=folder, observer=observer, federation=federation, task=task, transport=everyone, A=A, B=B
        )

    @staticmethod
    def phi_of(spec: "Spec") -> object:
        """φ of a spec: a number, or "auto"; Scaff-PD is φ = 0."""
        return 0.0 if spec.algorithm.name == "scaff-pd" else spec.get("algorithm.phi")

    def train(self, value: float) -> Any:  # noqa: ANN401 — `evenkeel.phi.Trained`, whose module loads torch
        """(θ, λ) of the same spec with this φ; a run that is there already is used, one that stopped goes on."""
        from evenkeel.runs import execute, transport_of

        if self.spec.algorithm.name == "scaff-pd":
            raise InputError("--check on a run of 'scaff-pd', which has no phi; give a run of 'scaff-pd-ia'")
        spec = self.spec.replace("algorithm.phi", value)
        place = self.folder / f"phi-{value:g}"
        parts, beside = (self.task, self.federation), None
        if spec.engine.transport == "ray":  # the cores are taken by our own workers
            beside = transport_of(spec, *parts, beside=self.transport)
        done = execute(
            spec, place, resume=True, observer=self.observer, task=parts[0], federation=parts[1], transport=beside
        )
        return done.theta, done.lam


def with_auto_phi(spec: "Spec", folder: Path, observer: "Observer") -> "Spec":
    """A spec with phi = "auto" becomes one with the φ chosen by a run with φ = 0 in FOLDER-phi; others stay."""
    from evenkeel.phi import resolve_auto_phi
    from evenkeel.runs.nodes import ended

    if spec.algorithm.options.get("phi") != "auto":
        return spec
    study = Study.of(spec, folder.with_name(f"{folder.name}-phi"), observer)
    choice = resolve_auto_phi(study.train, study.transport, study.A, study.B)
    ended(study.transport)
    save(study.folder / CHOICE, as_json(facts(str(folder), choice, ())))
    return spec.replace("algorithm.phi", choice.phi)


def _grid(text: str | None) -> tuple[float, ...]:
    """Numbers in [0, 1) between commas.

    >>> _grid("0, 0.1,0.5")
    (0.0, 0.1, 0.5)
    """
    try:
        values = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise InputError(f"--check {text}: must be numbers between commas; give such as 0,0.1,0.2") from None
    for value in values:
        if not 0 <= value < 1:
            raise InputError(f"--check {value:g}: phi must lie in [0, 1); leave it out")
    return values


def facts(run: str, choice: "Choice", rows: tuple["Measured", ...]) -> dict[str, Any]:
    """All that was found, for JSON."""
    e = choice.expansion
    return {
        "kind": "phi",
        "run": run,
        "phi": choice.phi,
        "a": e.a,
        "b": e.b,
        "c": e.c,
        "predicted": {"at_0": _finite(e.predicted(0.0)), "at_phi": _finite(e.predicted(choice.phi))},
        "products": choice.solve.products,
        "residual": choice.solve.residual,
        "damping": choice.solve.damping,
        "notes": list(choice.notes),
        "measured": [{k: _finite(v) for k, v in row._asdict().items()} for row in rows],
    }


def _finite(x: float) -> float | None:
    return x if abs(x) < float("inf") else None


def _tell(choice: "Choice", rows: tuple["Measured", ...], spec: "Spec") -> None:
    e, found, console = choice.expansion, choice.solve, stdout()
    console.print(Text(f"phi = {choice.phi:.4g}", style="bold"))
    console.print(
        f"At phi = 0 the worst-off lose {e.a:.4g} and the best-off {e.b:.4g}; c = {e.c:.4g} from {found.products} "
        f"products with the Hessian, residual {found.residual:.1g}.",
        soft_wrap=True,
    )
    console.print(
        f"Negative utility: {e.predicted(0.0):.4g} at 0; the model expects {e.predicted(choice.phi):.4g} at phi."
    )
    for note in choice.notes:
        console.print(plain(f"Note: {note}", most=300), style="yellow", soft_wrap=True)
    if rows:
        console.print(_measured(rows))
    if len({row.utility for row in rows}) < len({row.phi for row in rows}):
        said = "Note: two phi gave one model: lambda never reached the bound of its set; give more rounds or sigma"
        console.print(plain(said, most=300), style="yellow", soft_wrap=True)
    if spec.algorithm.name == "scaff-pd-ia":
        console.print(Text(f"To use it: --set algorithm.phi={choice.phi:.4g}", style="dim"))


def _measured(rows: tuple["Measured", ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("phi", "worst-off", "best-off", "ratio", "utility", "predicted"):
        table.add_column(heading, justify="right")
    best = min(rows, key=lambda row: row.utility)
    for row in rows:
        table.add_row(*(f"{value:.4g}" for value in row), style="bold" if row is best else "")
    return table
