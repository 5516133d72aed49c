"""Small models to operate on: feed-forward layers, and what looks like them."""

import torch
from torch import nn

D, H = 8, 16
X = torch.randn(2, 5, D, generator=torch.manual_seed(0))


class Layer(nn.Module):
    """fc1, act, fc2, and what a test adds."""

    def __init__(self, act=nn.GELU, hidden=H):
        super().__init__()
        self.fc1 = nn.Linear(D, hidden)
        self.act = act()
        self.fc2 = nn.Linear(hidden, D)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Model(nn.Module):
    """One layer, or several."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
