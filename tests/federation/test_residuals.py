"""Error feedback: what a lossy wire takes away arrives later; a round that is asked again says the same."""

import torch

from evenkeel.federation.packing import pack, tensor
from evenkeel.federation.residuals import Residuals, fed_back
from tests.federation.posts import MemoryPost
from tests.federation.small import alone, spec
from tests.federation.test_exchange import served


def kept(folder):
    return Residuals(folder=folder, run="run", client="north")


def test_the_mean_of_what_arrives_tends_to_the_truth_though_each_vector_is_rounded(tmp_path):
    x, rounds = torch.tensor([1.0, 0.003, -0.002]), 50
    once = float((tensor(pack(x, "int8")) - x).abs().max())
    heard = sum(tensor(fed_back(x, "int8", "local.delta", r, kept(tmp_path))) for r in range(rounds)) / rounds
    assert once > 1e-3  # the small ones are lost without feedback
    assert float((heard - x).abs().max()) <= (1 / 250) / rounds  # the last e, at most half of a step of 1/127, over R


def test_a_round_that_is_asked_again_is_answered_with_the_same_bytes(tmp_path):
    x = torch.tensor([1.0, 0.003, -0.002])
    said = [fed_back(x, "int8", "local.delta", r, kept(tmp_path)).data for r in (0, 1, 2, 2)]
    assert said[2] == said[3]
    assert len(list(tmp_path.glob("*"))) == 2  # no more than the last two are kept


def test_a_run_with_feedback_learns_what_the_plain_loop_learns(tmp_path):
    made = spec("scaff-pd-ia", 5, rounds=6, clients__wire="int8", clients__feedback=True)
    exact = alone(spec("scaff-pd-ia", 5, rounds=6), tmp_path / "loop").theta
    run = served(MemoryPost(made, state=tmp_path / "state").everybody(), made, tmp_path / "run")
    assert float((run.theta - exact).norm() / exact.norm()) < 5e-2
    assert list((tmp_path / "state").glob("*"))
