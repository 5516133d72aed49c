"""How figures of the gallery look, and how they are taken from the scripts."""

from pathlib import Path
from typing import Any


def plain(gallery_conf: dict[str, Any], name: str) -> None:
    """Begin each example with the same style, and with torch's random numbers at one place."""
    import matplotlib.pyplot as plt
    import torch

    plt.close("all")
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
    torch.manual_seed(0)


def taken(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of pyplot, and the one that a script calls `figure`."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import figure_rst

    names = block_vars["example_globals"]
    found = [plt.figure(number) for number in plt.get_fignums()]
    own = names.pop("figure", None)
    if own is not None and own not in found:
        found.append(own)
    paths = []
    for figure in found:
        path = Path(next(block_vars["image_path_iterator"]))
        figure.savefig(path, dpi=110, bbox_inches="tight")
        paths.append(str(path))
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])
