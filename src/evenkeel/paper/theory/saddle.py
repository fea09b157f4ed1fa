"""The solution (θ*, λ*) of min over θ, max over λ in Λ of Σλ_if_i(θ), by a conic solver, with its proven accuracy.

Where every f_i is a quadratic form (θ, 1)ᵀK_i(θ, 1), minimising over θ first leaves one semidefinite programme,

    max t   s.t.   Σλ_iK_i − t·eeᵀ ⪰ 0,   λ = (a − φb)/(1 − φ),   a ∈ A,   b ∈ B      (e the last unit vector),

which holds for negative weights as well; Clarabel solves it. For other losses the K_i are those of the Taylor
expansion at the last θ: Newton's method, one conic programme a step. Clarabel leaves about 1e-8; Newton steps on the
optimality conditions of the face that it found (clients in order of loss, those that tie kept tied) leave rounding.

How near the result is needs no trust in either. With gap = max_Λ⟨λ, f(θ)⟩ − ⟨λ*, f(θ)⟩, g = Σλ*_i∇f_i(θ) and Σλ*_if_i
μ-strongly convex, any minimiser θ° of max_Λ obeys μ/2·‖θ° − θ‖² − ‖g‖·‖θ° − θ‖ ≤ gap, as
Σλ*f(θ°) ≤ max_Λ(θ°) ≤ max_Λ(θ). So ‖θ° − θ‖ ≤ (‖g‖ + √(‖g‖² + 2μ·gap))/μ, and θ° is the only one.
"""

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from evenkeel.errors import RunFailedError
from evenkeel.paper.theory.rows import Real, Rows
from evenkeel.sets import Integrated

STEPS = 30  # Newton's method about any of our problems needs fewer than ten
TIED = 1e-5  # losses this share of the mean one apart are taken to be equal before the last Newton steps
CERTAIN = 1e-8  # a solution whose squared error is proven to be below this counts as found


@dataclass(frozen=True, slots=True, kw_only=True)
class Saddle:
    """θ*, λ*, the losses there, and `squared_error` ≥ ‖θ° − θ*‖² for the true minimiser θ° (∞: nothing is proven).

    `conic` is how far the conic solver's own θ was from the θ kept.
    """

    theta: Real
    lam: Real
    losses: Real
    convexity: float
    squared_error: float
    conic: float

    @property
    def certain(self) -> bool:
        """Whether it is proven to be the one minimiser."""
        return self.squared_error < CERTAIN


def solve(rows: Rows, ambiguity: Integrated, start: Real | None = None) -> Saddle:
    """(θ*, λ*) of these clients; `start` is for losses that are no quadratic forms.

    >>> from evenkeel.sets import Simplex
    >>> one, two = (Rows(xs=(np.eye(2),) * 2, ys=(np.array([c, 0.0]), np.array([0.0, c])), l2=0.0) for c in (1.0, 2.0))
    >>> found = solve(one, Integrated(Simplex(2), Simplex(2), 0.5))  # ½‖θ − e₁‖² and ½‖θ − e₂‖²
    >>> found.theta.round(9).tolist(), found.lam.round(9).tolist(), found.certain
    ([0.5, 0.5], [0.5, 0.5], True)
    """
    theta, lam = np.zeros(rows.d) if start is None else start, np.empty(0)
    for _ in range(STEPS):
        lam, new = conic(rows.forms(theta), ambiguity)
        moved, theta = float(np.linalg.norm(new - theta)), new
        if not rows.binary or moved < 1e-6:
            break
    polished = _polished(rows, ambiguity, theta, lam)
    found = min((_proven(rows, ambiguity, *x) for x in ((theta, lam), polished)), key=lambda x: x[-1])
    return Saddle(
        theta=found[0],
        lam=found[1],
        losses=rows.losses(found[0]),
        convexity=rows.convexity(found[1]),
        squared_error=found[2],
        conic=float(np.linalg.norm(found[0] - theta)),
    )


def conic(K: Real, ambiguity: Integrated) -> tuple[Real, Real]:
    """(λ, θ) of quadratic forms, by the semidefinite programme above."""
    n, p, phi = ambiguity.n, K.shape[1], ambiguity.phi
    blocks = [ambiguity.A.block(), ambiguity.B.block()]
    columns = [_flat(K).T / (1 - phi), -phi * _flat(K).T / (1 - phi)]
    wide = [np.hstack([c, np.zeros((len(c), b.G.shape[1] - n))]) for c, b in zip(columns, blocks, strict=True)]
    corner = np.zeros((p, p))
    corner[-1, -1] = 1.0
    matrix = np.column_stack([*wide, -_flat(corner)])
    members = sparse.block_diag([b.G for b in blocks])
    members = sparse.hstack([members, sparse.csc_matrix((members.shape[0], 1))])
    G = sparse.vstack([members, sparse.csc_matrix(-matrix)], format="csc")
    h = np.concatenate([*(b.h for b in blocks), np.zeros(len(matrix))])
    cones = [*blocks[0].cones, *blocks[1].cones, clarabel.PSDTriangleConeT(p)]
    x = _solved(G, h, cones)
    second = blocks[0].G.shape[1]
    lam = ambiguity.project((x[:n] - phi * x[second : second + n]) / (1 - phi))
    mixed = np.tensordot(lam, K, 1)
    return lam, np.asarray(np.linalg.lstsq(mixed[:-1, :-1], -mixed[:-1, -1], rcond=None)[0])


def _solved(G: Any, h: Real, cones: list[Any]) -> Real:  # noqa: ANN401 — SciPy's sparse matrix
    """The last variable maximised."""
    size = G.shape[1]
    cost = np.append(np.zeros(size - 1), -1.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    answer = clarabel.DefaultSolver(sparse.csc_matrix((size, size)), cost, G, h, cones, settings).solve()
    x = np.asarray(answer.x)
    if not np.isfinite(x).all():
        raise RunFailedError(f"theory: the conic solver ended with {answer.status}; the losses may have no saddle")
    return x


def _flat(m: Real) -> Real:
    """Upper triangles column by column, √2 off the diagonal, so that ⟨A, B⟩ is a dot product."""
    i, j = np.array([(i, j) for j in range(m.shape[-1]) for i in range(j + 1)]).T
    return np.asarray(m[..., i, j] * np.where(i == j, 1.0, np.sqrt(2)))


def _polished(rows: Rows, ambiguity: Integrated, theta: Real, lam: Real) -> tuple[Real, Real]:
    """Newton steps for Σλ_i∇f_i = 0, equal losses in each group of ties, and each group's share of the weights."""
    order, groups, w = _face(rows.losses(theta), ambiguity)
    tied = np.concatenate([np.empty(0, np.int64), *groups]).astype(np.int64)
    member = np.zeros((len(groups), len(tied)))
    for k, g in enumerate(groups):
        member[k, np.isin(tied, g)] = 1.0
    lam = lam.copy()
    free = np.setdiff1d(order, tied)
    lam[free] = w[free]
    shares = np.array([w[g].sum() for g in groups])
    d, t, k = rows.d, len(tied), len(groups)
    for _ in range(8):
        f, g, H = rows.losses(theta), rows.gradients(theta), np.tensordot(lam, rows.hessians(theta), 1)
        level = np.array([f[group].mean() for group in groups])
        A = np.zeros((d + t + k, d + t + k))
        A[:d, :d], A[:d, d : d + t], A[d : d + t, :d] = H, g[tied].T, g[tied]
        A[d : d + t, d + t :], A[d + t :, d : d + t] = -member.T, member
        b = np.concatenate([lam @ g, f[tied] - member.T @ level, member @ lam[tied] - shares])
        step = np.linalg.lstsq(A, -b, rcond=None)[0]
        theta, lam[tied] = theta + step[:d], lam[tied] + step[d : d + t]
    return theta, lam


def _face(f: Real, ambiguity: Integrated) -> tuple[Any, list[Any], Real]:
    """Clients by falling loss, the groups that tie and whose weights differ, and each client's weight without ties."""
    spectrum = ambiguity.spectrum
    if spectrum is None:
        raise RunFailedError("theory: polishing needs a set of the same weights in every order")
    order = np.argsort(-f, kind="stable")
    cuts = np.flatnonzero(-np.diff(f[order]) > TIED * np.abs(f).mean()) + 1
    places = np.split(np.arange(f.size), cuts)
    w = np.empty(f.size)
    w[order] = spectrum
    groups = [order[p] for p in places if np.ptp(spectrum[p]) > 1e-12]
    return order, groups, w


def _proven(rows: Rows, ambiguity: Integrated, theta: Real, lam: Real) -> tuple[Real, Real, float]:
    """θ, λ brought into Λ, and the bound of ‖θ° − θ‖² (∞ where Σλf is not strongly convex)."""
    lam = ambiguity.project(lam)
    mu, f = rows.convexity(lam), rows.losses(theta)
    slope = float(np.linalg.norm(lam @ rows.gradients(theta)))
    gap = max(ambiguity.support(f) - float(lam @ f), 0.0)
    if not (mu > 0 and np.isfinite(gap)):
        return theta, lam, np.inf
    return theta, lam, float(((slope + np.sqrt(slope**2 + 2 * mu * gap)) / mu) ** 2)
