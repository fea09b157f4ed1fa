"""Your own network: a convolutional net over the eight-by-eight digits, dealt out unevenly to clients.

Any nn.Module will do that keeps no running statistics: use GroupNorm or LayerNorm, not BatchNorm.
Run: python examples/own_cnn.py
"""

import argparse
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

import evenkeel


class Net(nn.Module):
    """Two convolutions, one hidden layer."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(2, width)
        self.conv2, self.norm2 = nn.Conv2d(width, 2 * width, 3, padding=1), nn.GroupNorm(2, 2 * width)
        self.out = nn.Linear(2 * width * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of the ten digits."""
        x = nn.functional.avg_pool2d(self.norm1(self.conv1(x)).relu(), 2)
        x = nn.functional.avg_pool2d(self.norm2(self.conv2(x)).relu(), 2)
        return self.out(x.flatten(1))


def main(clients: int, rounds: int, out: Path) -> evenkeel.Run:
    """Train, audit, and use the model."""
    digits = load_digits()
    x, y = digits.images[:, None] / 16, digits.target
    data = evenkeel.Federation.from_tensors(x, y, partition="dirichlet", n=clients, options={"alpha": 0.5})
    settings = {"work.batch": 16, "work.epochs": 1, "evaluation.every": 5}
    run = evenkeel.train(
        Net, data, "scaff-pd-ia", phi=0.2, tau=0.5, eta=0.1, sigma=1e-2, rounds=rounds, settings=settings, out=out
    )
    a = run.audit()
    low, high = a.intervals["R"]
    print(
        f"R {a.R:.2f} (95 % interval {low:.2f} to {high:.2f}), mean loss {a.mean:.3f}, worst off: {a.worst_off[0][0]}"
    )
    weights = run.lam
    print(f"weights from {weights.min():.4f} to {weights.max():.4f}; they sum to {weights.sum():.4f}")
    net = run.model()
    with torch.no_grad():
        right = net(data.x).argmax(1) == data.y
    print(f"{right.float().mean():.1%} of all rows right (training rows among them)")
    return run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("runs/own-cnn"))
    asked = parser.parse_args()
    main(asked.clients, asked.rounds, asked.out)
