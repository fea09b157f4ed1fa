"""Who is measured: one line a contestant, with its environment, how it is run, and what had to be known to run it."""

from dataclasses import dataclass

from environments import TORCH, Environment

VISION = (*TORCH, "torchvision==0.28.0")  # the one for this torch: pip alone takes a newer one, and CUDA with it
OURS = Environment()
FLOWER = Environment("flower", (TORCH, (*TORCH, "flwr[simulation]==1.41.0")))
FEDLAB = Environment("fedlab", (VISION, (*VISION, "fedlab==1.3.0")))
FLGO = Environment("flgo", (VISION, (*VISION, "flgo==0.4.4")))
PFL = Environment("pfl", (TORCH, (*TORCH, "pfl[pytorch]==0.6.0")))
JAX = ("jax==0.4.38", "jaxlib==0.4.38", "dm-haiku==0.0.13", "optax==0.2.4")
FEDJAX = Environment("fedjax", (("fedjax==0.0.17", *JAX),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A script `peer_<script>.py` with a variant; `same` says that its work is exactly that of FedAvg with a probe."""

    name: str
    script: str
    environment: Environment
    packages: tuple[str, ...]
    variant: str = ""
    house: bool = False
    same: bool = True
    note: str = ""


def _ours(name, script, variant, note, *, same=True):
    packages = ("torch", "numpy")
    return Contestant(
        name=name, script=script, environment=OURS, packages=packages, variant=variant, house=True, same=same, note=note
    )


REFERENCE = "evenkeel, FedAvg + probe"
LOOP = "plain PyTorch loop, 1 process"
HOUSE = (
    _ours(REFERENCE, "evenkeel", "fedavg", "the engine's probe, then its FedAvg round"),
    _ours(
        "evenkeel, Scaff-PD-IA",
        "evenkeel",
        "scaff-pd-ia",
        "probe, dual step, control gradients and corrected local steps: more work than the others do",
        same=False,
    ),
    _ours(LOOP, "plain", "one", "autograd, one thread, flat buffers, evaluation in blocks of clients"),
    _ours("plain PyTorch loop, 2 processes", "plain", "two", "the same, half of the clients each, shared memory"),
    _ours(
        "plain loop by hand, 2 processes",
        "plain",
        "two-by-hand",
        "the same with the backward pass written out instead of autograd",
    ),
)
FRAMEWORKS = (
    Contestant(
        name="Flower simulation",
        script="flower",
        environment=FLOWER,
        packages=("flwr", "ray", "torch"),
        note="Ray with an actor a core on loopback; loss and training in one message, and our own 50 ms poll for the "
        "replies (the stock one: 100 ms); the client's work is that of the plain loop",
    ),
    Contestant(
        name="FedLab",
        script="fedlab",
        environment=FEDLAB,
        packages=("fedlab", "torch"),
        variant="one",
        note="its serial trainer and pipeline, one thread, batches from memory; PyPI's torchvision is built for CUDA, "
        "so two of its operators are declared empty before FedLab's import of it",
    ),
    Contestant(
        name="FLGo",
        script="flgo",
        environment=FLGO,
        packages=("flgo", "torch"),
        variant="one",
        note="its FedAvg runner and its own test of each client, one thread (its default), batches from memory",
    ),
    Contestant(
        name="FLGo, 2 threads",
        script="flgo",
        environment=FLGO,
        packages=("flgo", "torch"),
        variant="two-threads",
        note="the same with its pool of two threads; its pool of processes pickles all clients for each client",
    ),
    Contestant(
        name="pfl-research, 1 process",
        script="pfl",
        environment=PFL,
        packages=("pfl", "torch"),
        variant="one",
        note="its simulated backend and FederatedAveraging, one thread; the loss once and not twice a client",
    ),
    Contestant(
        name="pfl-research, 2 processes",
        script="pfl",
        environment=PFL,
        packages=("pfl", "torch"),
        variant="two",
        note="the same over torch.distributed (gloo on loopback), each with one thread",
    ),
    Contestant(
        name="FedJAX, jit",
        script="fedjax",
        environment=FEDJAX,
        packages=("fedjax", "jax"),
        variant="jit",
        note="its own federated averaging and loss evaluator; FedJAX 0.0.17 calls jax.tree_map, which today's jax "
        "(0.10.2) no longer has, so jax is pinned to 0.4.38",
    ),
    Contestant(
        name="FedJAX, pmap on 2 devices",
        script="fedjax",
        environment=FEDJAX,
        packages=("fedjax", "jax"),
        variant="pmap",
        note="a host device a core; needs jax_pmap_no_rank_reduction off with this jax",
    ),
)
