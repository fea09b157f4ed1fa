"""The spec: one typed TOML that says everything a run depends on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from evenkeel.errors import InputError
from evenkeel.runs import reading
from evenkeel.runs.keys import Value, key
from evenkeel.runs.options import taken
from evenkeel.runs.sections import (
    AlgorithmSection,
    ClientsSection,
    DataSection,
    EngineSection,
    EvaluationSection,
    OutputSection,
    PartitionSection,
    RegionSection,
    ScheduleSection,
    TaskSection,
    WorkSection,
)

STEP_SIZES = ("tau", "eta", "sigma")
_HOW_ONLY = {"name", "engine", "output"}  # these change last digits at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a run depends on. Options that were left out follow the names chosen; `resolved` fills them in.

    >>> spec = Spec.preset("digits", ["algorithm.phi=0.3"])
    >>> spec.get("algorithm.phi"), spec.partition.n, spec.replace("rounds", 5).rounds
    (0.3, 100, 5)
    """

    name: str = key("text", "what the run is called", "run", hint='give a name such as "first"')
    rounds: int = key("whole", "rounds of training", 100, low=1, hint="100 is the paper's")
    seed: int = key(
        "whole", "seed of start values, batches, dropout and absence", 0, low=0, high=2**62, hint="0 will do"
    )
    data: DataSection = field(default_factory=DataSection)
    partition: PartitionSection = field(default_factory=PartitionSection)
    task: TaskSection = field(default_factory=TaskSection)
    algorithm: AlgorithmSection = field(default_factory=AlgorithmSection)
    work: WorkSection = field(default_factory=WorkSection)
    region: RegionSection = field(default_factory=RegionSection)
    schedule: ScheduleSection = field(default_factory=ScheduleSection)
    clients: ClientsSection = field(default_factory=ClientsSection)
    evaluation: EvaluationSection = field(default_factory=EvaluationSection)
    engine: EngineSection = field(default_factory=EngineSection)
    output: OutputSection = field(default_factory=OutputSection)

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str = "spec") -> Self:
        """From nested dictionaries, as a TOML file holds them; `where` begins each complaint."""
        return reading.read(cls, table, lambda _: where)

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """From a TOML file, with "key=value" overrides."""
        file = Path(path)
        table = reading.toml(file)
        table.setdefault("name", file.stem)
        return reading.read_over(cls, table, overrides, file.name)

    @classmethod
    def preset(cls, name: str, overrides: Sequence[str] = ()) -> Self:
        """One of `PRESETS`, with "key=value" overrides."""
        from evenkeel.runs.presets import PRESETS

        reading.known_preset(name, PRESETS)
        return reading.read_over(cls, {"name": name, **PRESETS[name]}, overrides, f"preset {name}")

    def table(self) -> dict[str, Any]:
        """As nested dictionaries, keys that were left out left out: `Spec.of(spec.table()) == spec`."""
        return reading.table(self)

    def get(self, dotted: str) -> Value | None:
        """The value of a key such as "algorithm.phi", the default where it was left out."""
        section, _, option = dotted.rpartition(".")
        held: Any = reading.table(self.resolved(), keep_none=True)
        held = held.get(section) if section else held
        if not isinstance(held, dict) or option not in held or isinstance(held[option], dict):
            raise InputError(f"{dotted}: no such key in this spec; `evenkeel spec --show` lists them")
        value: Value | None = held[option]
        return value

    def replace(self, dotted: str, value: object) -> Self:
        """Another spec with one key changed, checked as if it stood in the file; None leaves the key out."""
        return type(self).of(reading.put(self.table(), dotted, value), f"replace {dotted}")

    def resolved(self) -> Self:
        """With every option filled in that the names chosen determine."""
        full = {}
        for section in ("data", "partition", "task", "algorithm"):
            held = getattr(self, section)
            name = getattr(held, {"data": "source", "task": "model"}.get(section, "name"))
            defaults = {k: v for k, v in taken(section, name).items() if isinstance(v, str | int | float | bool)}
            if section == "algorithm" and self.schedule.kind == "theorem":  # it sets the step sizes
                defaults = {k: v for k, v in defaults.items() if k not in STEP_SIZES}
            full[section] = replace(held, options=dict(sorted({**defaults, **held.options}.items())))
        work = self.work
        if work.steps is None and work.epochs is None:  # Stochastic-AFL takes one step, as in its paper
            work = replace(work, steps=1) if self.algorithm.name == "safl" else replace(work, epochs=5)
        return replace(self, work=work, **full)

    def to_toml(self) -> str:
        """The resolved spec as TOML, a comment for each key."""
        from evenkeel.runs.toml import to_toml

        return to_toml(self.resolved())

    def digest(self) -> str:
        """SHA-256 of what changes the result: all but the name, the engine and the output.

        >>> Spec(name="a").digest() == Spec(name="b").digest(), Spec(seed=1).digest() == Spec().digest()
        (True, False)
        """
        table = {k: v for k, v in self.resolved().table().items() if k not in _HOW_ONLY}
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


SECTIONS: tuple[str, ...] = tuple(f.name for f in fields(Spec) if "key" not in f.metadata)
