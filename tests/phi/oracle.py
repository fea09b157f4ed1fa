"""Federations whose exact solutions come from elsewhere: SciPy's SLSQP or Clarabel, on losses written in NumPy."""

from functools import cache
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import torch
from scipy.optimize import minimize

from evenkeel.data.sources import penguins
from evenkeel.tasks import build
from tests.algorithms.bank import federation_of, logistic_cvar, quadratic_worst


class Clients(NamedTuple):
    """Designs (with a column of ones), targets, ridge term: f, gradients and Hessians by hand."""

    xs: list
    ys: list
    l2: float
    binary: bool = False

    @property
    def d(self):
        return self.xs[0].shape[1]

    def losses(self, t):
        pairs = zip(self.xs, self.ys, strict=True)
        row = (lambda z, y: np.logaddexp(0, z) - y * z) if self.binary else (lambda z, y: (z - y) ** 2)
        return np.array([row(x @ t, y).mean() for x, y in pairs]) + self.l2 / 2 * t @ t

    def gradients(self, t):
        pairs = zip(self.xs, self.ys, strict=True)
        slope = (lambda z, y: 1 / (1 + np.exp(-z)) - y) if self.binary else (lambda z, y: 2 * (z - y))
        return np.array([x.T @ slope(x @ t, y) / len(y) for x, y in pairs]) + self.l2 * t

    def hessians(self, t):
        bend = (lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2) if self.binary else (lambda z: np.full(len(z), 2.0))
        return np.array([(x.T * bend(x @ t)) @ x / len(x) + self.l2 * np.eye(self.d) for x in self.xs])


def clients_of(task, federation):
    xs = [federation.x[rows].numpy() for rows in map(federation.train.__getitem__, range(federation.n))]
    ys = [federation.y[federation.train[i]].numpy() for i in range(federation.n)]
    return Clients([np.hstack([x, np.ones((len(x), 1))]) for x in xs], ys, task.l2, task.kind == "binary")


@cache
def penguins_problem():
    """Three species, ten rows each, features standardised (which no minimax value depends on), float64."""
    source = penguins.load(first=10)
    x = source.x.double().numpy()
    x, y = (x - x.mean(0)) / x.std(0), source.y.double().numpy() - source.y.double().numpy().mean()
    parts = [np.flatnonzero(source.groups == i) for i in range(3)]
    task = build("linear", (2,), 0, dtype=torch.float64)
    return task, federation_of([x[p] for p in parts], [y[p] for p in parts], 0)


def logistic_problem():
    p = logistic_cvar()
    return p.task, p.federation


def quadratic_problem():
    p = quadratic_worst()
    return p.task, p.federation


def solution(clients, phi, k, start):
    """argmin of (mean of the k largest − φ·mean of the k smallest), a local one near `start`, as a smooth programme."""
    n, d = len(clients.xs), clients.d
    f = np.sort(clients.losses(start))
    top, low, now = f[-k], f[k - 1], clients.losses(start)
    x0 = np.r_[start, top, np.maximum(now - top, 0), low, np.maximum(low - now, 0)]
    cost = np.r_[np.zeros(d), 1, np.full(n, 1 / k), -phi, np.full(n, phi / k)]
    eye, zero, one = np.eye(n), np.zeros((n, n)), np.ones((n, 1))

    def slack(x):
        f = clients.losses(x[:d])
        return np.r_[x[d] + x[d + 1 : d + 1 + n] - f, x[d + 2 + n :] - x[d + 1 + n] + f]

    def slope(x):
        g = clients.gradients(x[:d])
        return np.block([[-g, one, eye, 0 * one, zero], [g, 0 * one, zero, -one, eye]])

    free, positive = (None, None), (0, None)
    bounds = [free] * (d + 1) + [positive] * n + [free] + [positive] * n
    rules = {"type": "ineq", "fun": slack, "jac": slope}
    options = {"maxiter": 500, "ftol": 1e-13}
    return minimize(
        lambda x: cost @ x, x0, jac=lambda _: cost, constraints=rules, bounds=bounds, method="SLSQP", options=options
    ).x[:d]


def dual(clients, theta, k):
    """Weights in CVaR(k/n) that balance the gradients at the φ = 0 solution: the saddle's λ, by Clarabel."""
    a, f = cp.Variable(len(clients.xs)), clients.losses(theta)
    worst = np.sort(f)[-k:].mean()
    residual = cp.sum_squares(clients.gradients(theta).T @ a) + 100 * cp.square(worst - f @ a)
    cp.Problem(cp.Minimize(residual), [a >= 0, a <= 1 / k, cp.sum(a) == 1]).solve(solver=cp.CLARABEL)
    return np.clip(a.value, 0, 1 / k) / np.clip(a.value, 0, 1 / k).sum()


def curve(clients, k, grid, theta):
    """θ_φ along a grid, each started from the one before."""
    path = []
    for phi in grid:
        theta = solution(clients, phi, k, theta)
        path.append(theta)
    return path


def utility(clients, k, theta):
    f = np.sort(clients.losses(theta))
    return f[-k:].mean() / np.sqrt(f[:k].mean())
