"""What the paper leaves open, as variants of one protocol: what each changes, for which algorithms and seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evenkeel.errors import InputError, nearest
from evenkeel.paper.experiment import specs
from evenkeel.paper.printed import ALGORITHMS
from evenkeel.paper.setting import Setting
from evenkeel.runs import Spec

FEW = ("fedavg", "safl", "scaff-pd-ia")  # an averaging, an agnostic and the paper's method: enough to screen by
SCAFFOLDS = ("scaffold", "scaff-pd", "scaff-pd-ia")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One protocol: `changes` are keys of every spec, `dual` what λ hears (see `dual_loss`)."""

    what: str
    setting: Setting
    algorithms: tuple[str, ...] = FEW
    changes: Mapping[str, Any] = field(default_factory=dict)
    dual: str = "train"
    seeds: tuple[int, ...] = (0,)

    def specs(self, name: str) -> dict[str, Spec]:
        """The specs of its algorithms."""
        return {a: self._changed(specs(self.setting)[a].replace("name", f"{name} {a}")) for a in self.algorithms}

    def _changed(self, spec: Spec) -> Spec:
        for key, value in self.changes.items():
            spec = spec.replace(key, value)
        return spec


_STEPS = Setting(dataset="mnist", split="class-ordered", local="steps")
_EPOCHS = replace(_STEPS, local="epochs")
_SIX = tuple(ALGORITHMS)

VARIANTS: Mapping[str, Variant] = {
    # by steps, the cheap half: each differs from `steps` in one thing
    "steps": Variant(what="class-ordered split, five steps, batch 64", setting=_STEPS, algorithms=_SIX),
    "shuffled": Variant(what="split shuffled", setting=replace(_STEPS, split="shuffled"), algorithms=_SIX),
    "raw": Variant(what="pixels in [0, 1]", setting=_STEPS, changes={"data.raw": True}),
    "batch-10": Variant(what="batch 10", setting=_STEPS, changes={"work.batch": 10, "work.control_batch": 10}),
    "batch-256": Variant(what="batch 256", setting=_STEPS, changes={"work.batch": 256, "work.control_batch": 256}),
    "dual-batch": Variant(what="λ hears a mini-batch", setting=_STEPS, dual="batch", algorithms=FEW[1:]),
    "dual-valid": Variant(what="λ hears the validation rows", setting=_STEPS, dual="valid", algorithms=FEW[1:]),
    "by-size": Variant(
        what="FedAvg weighted by size", setting=_STEPS, algorithms=("fedavg",), changes={"algorithm.weighting": "size"}
    ),
    "control-full": Variant(
        what="c_i of all rows", setting=_STEPS, changes={"work.control_batch": 0}, algorithms=("scaff-pd-ia",)
    ),
    "cohort-10": Variant(
        what="10 of the 100 clients a round",
        setting=_STEPS,
        changes={"algorithm.cohort": 10},
        algorithms=("fedavg", "scaff-pd-ia"),
    ),
    "all-rows": Variant(what="all 70,000 rows", setting=_STEPS, changes={"data.part": "all"}),
    "cap": Variant(what="Dirichlet with a cap of N/n", setting=_STEPS, changes={"partition.cap": True}),
    # by epochs
    "epochs": Variant(
        what="class-ordered split, five epochs, batch 64", setting=_EPOCHS, algorithms=_SIX, seeds=(0, 1, 2)
    ),
    "epochs-shuffled": Variant(what="split shuffled", setting=replace(_EPOCHS, split="shuffled"), algorithms=_SIX),
    # with the other three of `epochs`, this is the protocol that comes nearest to the whole of the printed table
    "divisor-5": Variant(
        what="Δu divided by J = 5",
        setting=_EPOCHS,
        algorithms=SCAFFOLDS,
        changes={"work.divisor": 5.0},
        seeds=(0, 1, 2),
    ),
    "divisor-5-shuffled": Variant(
        what="Δu divided by J = 5, split shuffled",
        setting=replace(_EPOCHS, split="shuffled"),
        algorithms=SCAFFOLDS,
        changes={"work.divisor": 5.0},
        seeds=(0, 1, 2),
    ),
    # the other dataset, four of the six under more seeds; with the paper's step sizes Scaff-PD-IA meets its row here
    "cifar10": Variant(
        what="CIFAR10, shuffled, five steps",
        setting=Setting(dataset="cifar10", local="steps"),
        algorithms=("fedavg", *SCAFFOLDS),
        seeds=tuple(range(10)),
    ),
    # the printed row of Scaff-PD-IA, with step sizes of ours and the paper's φ, α, R, n and five steps
    "row-mnist": Variant(
        what="shuffled, five steps, τ = .15",
        setting=Setting(dataset="mnist", local="steps"),
        algorithms=("scaff-pd-ia",),
        changes={"algorithm.tau": 0.15},
        seeds=(0, 1, 2),
    ),
    "row-cifar10": Variant(
        what="shuffled, five steps, τ = .1, σ = .02",
        setting=Setting(dataset="cifar10", local="steps"),
        algorithms=("scaff-pd-ia",),
        changes={"algorithm.tau": 0.1, "algorithm.sigma": 0.02},
        seeds=(0, 1, 2),
    ),
}


# protocols for all six algorithms: each takes an algorithm's numbers from the first of these variants that has it
PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "shuffled, five steps": ("shuffled",),
    "shuffled, five epochs": ("epochs-shuffled",),
    "shuffled, five epochs, Δu divided by 5": ("divisor-5-shuffled", "epochs-shuffled"),
    "class-ordered, five steps": ("steps",),
    "class-ordered, five epochs": ("epochs",),
    "class-ordered, five epochs, Δu divided by 5": ("divisor-5", "epochs"),
}


def variant(name: str) -> Variant:
    """The variant of a name.

    >>> variant("raw").what
    'pixels in [0, 1]'
    """
    if name not in VARIANTS:
        raise InputError(f"--only {name}: no such variant; {nearest(name, VARIANTS)}")
    return VARIANTS[name]
