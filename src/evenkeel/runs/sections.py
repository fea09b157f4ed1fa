"""The sections of a spec as frozen dataclasses; each key's meaning and rule stand beside it, and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenkeel.data.splits import SPLITS
from evenkeel.runs.keys import Value, key
from evenkeel.runs.options import names

Options = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSection:
    """Which rows."""

    source: str = key("text", "where the rows come from", "digits", choices=lambda: names("data"))
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSection:
    """Who owns which rows, and which of them validate."""

    name: str | None = key(
        "text",
        "how rows are dealt out; left out: by the clients in the data, else dirichlet",
        choices=lambda: names("partition"),
    )
    n: int | None = key("whole", "clients; left out: all groups in the data, else 100", low=1, hint="100 is usual")
    split: str = key("text", "which rows of a client validate", "shuffled", choices=lambda: SPLITS)
    fraction: float = key("number", "share that trains", 0.8, above=0, below=1, hint="0.8 trains on four rows of five")
    seed: int | None = key("whole", "seed of partition and split; left out: that of the run", low=0, hint="0 will do")
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSection:
    """What is learned."""

    model: str = key("text", "the model", "mlp", choices=lambda: names("task"))
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmSection:
    """How it is learned."""

    name: str = key("text", "the algorithm", "scaff-pd-ia", choices=lambda: names("algorithm"))
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSection:
    """What a client does in a round."""

    batch: int = key("whole", "rows a step; 0 is all", 64, low=0, hint="64 is the default")
    steps: int | None = key("whole", "mini-batches a round, instead of epochs", low=1, hint="or give epochs")
    epochs: int | None = key("whole", "passes a round, instead of steps", low=1, hint="the paper takes 5")
    control_batch: int = key("whole", "rows of the control gradient c_i; 0 is all", 64, low=0, hint="64 is the default")
    divisor: float = key("number", "J in the update; 0 is the steps taken", 0.0, low=0, hint="0 is Algorithm 2")
    dropout: bool = key("truth", "dropout in training", True, hint="write true or false without quotes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSection:
    """Where theta may be."""

    kind: str = key(
        "text", "bound on theta", "everywhere", choices=lambda: ("everywhere", "ball", "box"), hint='give "everywhere"'
    )
    radius: float | None = key("number", "largest norm, of a ball", above=0, hint="10 is wide for a small model")
    low: float | None = key("number", "smallest entry, of a box", hint="give a number below high")
    high: float | None = key("number", "largest entry, of a box", hint="give a number above low")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSection:
    """Step sizes over the rounds."""

    kind: str = key(
        "text",
        "constant, or the theorem's",
        "constant",
        choices=lambda: ("constant", "theorem"),
        hint='give "constant"',
    )
    varsigma: float | None = key("number", "extrapolation of losses; left out: 1", low=0, hint="the paper takes 1")
    tau_0: float | None = key("number", "the theorem's first tau", above=0, hint="0.1 is a start")
    gamma_0: float | None = key("number", "the theorem's first sigma/tau", above=0, hint="0.01 is a start")
    kappa: float | None = key("number", "m/4 − M(l1 − 1)/2 of the losses", low=0, hint="0 keeps the steps constant")
    J: int | None = key("whole", "the theorem's local steps", low=1, hint="give work.steps")
    beta: float | None = key("number", "the theorem's beta", low=1, hint="1 is the least")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsSection:
    """Who is there."""

    absent: float = key("number", "chance that a client misses a round", 0.0, low=0, below=1, hint="0 is nobody")
    trace: str | None = key("text", "file of who is there in which round: .npy, .csv or .parquet", hint='"trace.csv"')
    loss_bound: float | None = key(
        "number", "losses further than this × the quartiles' distance from them are clipped", low=0, hint="3 is mild"
    )
    norm_bound: float | None = key(
        "number", "vectors longer than this × the median length are scaled back", low=1, hint="3 is mild"
    )
    weight_bound: float | None = key(
        "number", "refuse a set that can give one client more weight than this", above=0, hint="0.3 is a start"
    )
    quorum: float | None = key(
        "number", "share of those asked that must answer in a federation; left out: 0.5", above=0, high=1, hint="0.5"
    )
    wire: str | None = key(
        "text",
        "how vectors travel in a federation; left out: exact",
        choices=lambda: ("exact", "float32", "float16", "int8"),
        hint='give "exact"',
    )
    feedback: bool | None = key("truth", "what a lossy wire took away is sent with the next vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSection:
    """What is measured, how often, on whom."""

    every: int = key("whole", "rounds between evaluations; the last is always one", 10, low=1, hint="10 is the default")
    splits: tuple[str, ...] = key(
        "list", "rows that are scored", ("valid", "train"), choices=lambda: ("valid", "train"), hint='give ["valid"]'
    )
    split: str = key(
        "text", "the one that the indices are of", "valid", choices=lambda: ("valid", "train"), hint='give "valid"'
    )
    alpha: float = key("number", "worst-off share in R", 0.2, above=0, high=1, hint="0.2 is the paper's")
    beta: float = key("number", "best-off share in R", 0.2, above=0, high=1, hint="0.2 is the paper's")
    clients: int = key(
        "whole", "clients scored, drawn once for the whole run; 0 is all", 0, low=0, hint="0 scores everyone"
    )
    phi: float = key(
        "number", "weight of the best-off in the discrepancy", 0.0, low=0, below=1, hint="0 is the default"
    )
    weighting: str = key(
        "text",
        "whether clients count alike or by size",
        "clients",
        choices=lambda: ("clients", "size"),
        hint='give "clients"',
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSection:
    """How it is computed. Other settings change last digits at most."""

    transport: str = key(
        "text",
        "all clients at once, the plain loop, or the workers of a Ray cluster",
        "engine",
        choices=lambda: ("engine", "loop", "ray"),
        hint='"engine"',
    )
    address: str | None = key("text", "of the Ray cluster; left out: one is started here", hint='"10.0.0.1:6379"')
    workers: int = key("whole", "threads, or workers on Ray; 0 is one a core", 0, low=0, hint="0 is the default")
    device: str = key("text", "where it is computed", "cpu", hint='give "cpu" or "cuda"')
    memory: int = key("whole", "MiB beyond the data; on Ray for each worker", 2048, low=16, hint="2048 is the default")
    deadline: float = key("number", "seconds for one exchange of a federation", 300.0, above=0, hint="300 is usual")
    retries: int = key("whole", "times that a federation asks a client again", 2, low=0, hint="2 is the default")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSection:
    """What is kept."""

    checkpoint: float = key(
        "number", "seconds between checkpoints; 0 is after every round", 2.0, low=0, hint="2 is the default"
    )
    tracking: tuple[str, ...] = key(
        "list",
        "tools that get a copy of the rounds",
        (),
        choices=lambda: ("tensorboard", "mlflow"),
        hint='give ["tensorboard"]',
    )
