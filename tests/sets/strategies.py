"""Hypothesis strategies: one for every registered set, and vectors that go with it."""

import numpy as np
from hypothesis import strategies as st

from evenkeel.sets import SETS, ChiSquareBall, CVaR, Hull, Integrated, KLBall, Point, Simplex, TVBall, WeightedCVaR

sizes = st.integers(1, 9)


def _weights(n):
    return st.lists(st.floats(0.01, 1), min_size=n, max_size=n).map(lambda w: np.array(w) / np.sum(w))


@st.composite
def basic(draw, n):
    """A set of distributions over n clients."""
    share = st.floats(1 / n, 1)
    radius = st.one_of(st.just(0.0), st.floats(1e-3, 3))
    return draw(
        st.one_of(
            st.just(Simplex(n)),
            st.builds(CVaR, st.just(n), share),
            st.builds(WeightedCVaR, _weights(n), st.floats(0.05, 1)),
            st.builds(Point, _weights(n)),
            st.just(Point.uniform(n)),
            st.builds(Hull, st.lists(_weights(n), min_size=1, max_size=4).map(np.stack)),
            st.builds(ChiSquareBall, st.just(n), radius),
            st.builds(KLBall, st.just(n), radius),
            st.builds(TVBall, st.just(n), radius),
        )
    )


@st.composite
def sets(draw):
    """Any registered set."""
    n = draw(sizes)
    if draw(st.booleans()):
        return draw(basic(n))
    return Integrated(draw(basic(n)), draw(basic(n)), draw(st.floats(0, 0.9)))


def vectors(n):
    entry = st.one_of(st.floats(-10, 10), st.sampled_from([-1.0, 0.0, 1.0, 1e3]))
    return st.lists(entry, min_size=n, max_size=n).map(np.array)


def by_conic_solver(s):
    """Whether a projection on this set is only as good as the solver's tolerance."""
    if isinstance(s, Integrated) and s.phi > 0:
        exact = Simplex | CVaR | WeightedCVaR | Point
        pair_exact = isinstance(s.A, exact) and isinstance(s.B, exact)
        return not pair_exact and s.spectrum is None
    return isinstance(s.A if isinstance(s, Integrated) else s, Hull | KLBall)


EVERY = {type(s).__name__ for s in (Simplex(1),)} | set(SETS)
