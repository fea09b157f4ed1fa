"""FedJAX's own federated averaging and loss evaluator, on its jit backend or on pmap with a device a core.

Kind to the peer: rows are NumPy arrays in memory, and a client is evaluated in one batch.
"""

import os

import numpy as np
from workload import BATCH, DROPOUT, ETA, FIRST, ROWS, Clock, arguments, read, unpack

NAMES = ("w1", "b1", "w2", "b2")


def model():
    """784-50-10 in plain jax: the per-example loss with dropout if there is a key, else without."""
    import jax
    import jax.numpy as jnp

    def loss(parameters, batch, rng, *, training):
        w1, b1, w2, b2 = (parameters[name] for name in NAMES)
        hidden = jax.nn.relu(batch["x"] @ w1.T + b1)
        if training:
            hidden = jnp.where(jax.random.bernoulli(rng, 1 - DROPOUT, hidden.shape), hidden / (1 - DROPOUT), 0)
        logits = jax.nn.log_softmax(hidden @ w2.T + b2)
        return -jnp.take_along_axis(logits, batch["y"][:, None], axis=1)[:, 0]

    return loss


def main():
    """Variant "jit" or "pmap"."""
    given = arguments()
    if given.variant == "pmap":
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={len(os.sched_getaffinity(0))}"
    from functools import partial

    import fedjax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_pmap_no_rank_reduction", False)  # FedJAX 0.0.17 takes a device's share without its axis
    fedjax.set_for_each_client_backend(given.variant)
    x, y, theta = read(given.rows, given.clients)
    slabs = zip(np.split(x, given.clients), np.split(y.astype(np.int32), given.clients), strict=True)
    clients = [(i, fedjax.ClientDataset({"x": a, "y": b})) for i, (a, b) in enumerate(slabs)]
    loss = model()
    hparams = fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH)
    method = fedjax.algorithms.fed_avg.federated_averaging(
        fedjax.grad(partial(loss, training=True)), fedjax.optimizers.sgd(ETA), fedjax.optimizers.sgd(1.0), hparams
    )
    evaluator = fedjax.AverageLossEvaluator(partial(loss, training=False))
    state, rng = method.init(dict(zip(NAMES, map(jnp.asarray, unpack(theta)), strict=True))), jax.random.PRNGKey(0)
    clock = Clock(FIRST)
    for _ in range(given.rounds):
        rng, own = jax.random.split(rng)
        keys = np.asarray(jax.random.split(own, given.clients))
        probed = [(i, data.padded_batch(batch_size=ROWS), keys[i]) for i, data in clients]
        losses = [value for _, value in evaluator.evaluate_global_params(state.params, probed)]
        state, _ = method.apply(state, [(i, data, keys[i]) for i, data in clients])
        clock.tick(np.array(jax.device_get(losses)))
        jax.block_until_ready(state.params)
    clock.report(backend=given.variant)


if __name__ == "__main__":
    main()
