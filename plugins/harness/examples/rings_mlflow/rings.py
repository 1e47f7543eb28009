"""Points within rings around the origin, and a small network that tells the rings apart."""

import torch


def points(count, seed):
    """Return points of the plane, and for each whether it is in the inner ring."""
    rng = torch.Generator().manual_seed(seed)
    inner = torch.rand(count, generator=rng) < 0.5
    radius = torch.where(inner, 1.0, 2.0) + 0.3 * torch.randn(count, generator=rng)
    angle = 6.283 * torch.rand(count, generator=rng)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), inner.long()


def network(width):
    return torch.nn.Sequential(
        torch.nn.Linear(2, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, 2),
    )
