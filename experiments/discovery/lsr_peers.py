"""Peers on sums of unlike parts: gplearn and pyoperon on the laws of `lsr`, on the same tables.

Rows are uniform in the box, as those of `lsr --rows uniform`. Peers get `--seconds` a law, are told
which of the rarer functions it has, and are judged as in `peers_laws`. Needs RAN_DATA (--smoke does
not) and the extra `bench`; a peer that is not installed is left out.

python -m experiments.discovery.lsr_peers [--smoke] [--jobs 1] [--peers gplearn pyoperon]
    [--noise 0 0.01] [--seconds 20] [--only NAME ...]
"""

from __future__ import annotations

from itertools import product

from experiments.discovery import laws, lsr, peers, peers_laws
from experiments.table import Table, arguments, rate, run

PEERS = ("gplearn", "pyoperon")
SECONDS = 20.0


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    there = [peer for peer in options.peers if peers.installed(peer)]
    for peer in sorted(set(options.peers) - set(there)):
        print(f"{peer} is not installed: pip install 'rational-anova[bench]'")
    name = "lsr_peers_smoke" if options.smoke else "lsr_peers"
    table = Table(name, peers_laws.KEY, fresh=options.smoke)
    if options.smoke:
        problems = [laws.Problem("sum", "made up", "y", "0.5*x**2 - 2*x", (("x", 0.5, 9.0),))]
        noises, seconds = [0.0], 1.0
    else:
        every = lsr.problems("uniform") if there else []
        problems = [law for law in every if not options.only or law.name in options.only]
        noises, seconds = options.noise, options.seconds
    tasks = [
        {"peer": peer, "problem": problem, "noise": noise, "seed": 0, "seconds": seconds}
        for noise, peer, problem in product(noises, there, problems)
    ]
    run(table, peers_laws.one, tasks, options.jobs)
    for peer, noise in dict.fromkeys((row["peer"], row["noise"]) for row in table.rows):
        rows = [row for row in table.rows if (row["peer"], row["noise"]) == (peer, noise)]
        counted = ("solved", "on_front", "structure", "structure_on_front")
        words = ", ".join(f"{column} {rate(rows, column)}" for column in counted)
        print(f"{peer}, noise {noise}: {words}")


if __name__ == "__main__":
    main()
