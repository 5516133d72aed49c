"""How figures of the gallery look; called before each script."""

from typing import Any


def plain(gallery_conf: dict[str, Any], name: str) -> None:
    """Begin each example with the same style, and with the numbers of chance at the same place."""
    import matplotlib.pyplot as plt
    import numpy as np
    import torch

    plt.rcdefaults()
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.8),
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": plt.cycler(
                color=["#1f6f8b", "#d1603d", "#5b8c5a", "#7b5ea7", "#b8860b"]
            ),
            "legend.frameon": False,
            "figure.constrained_layout.use": True,
        }
    )
    np.random.seed(0)
    torch.manual_seed(0)
