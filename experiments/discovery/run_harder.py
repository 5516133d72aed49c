"""Laws that nothing was fitted to: the same measurement as for the Feynman equations.

`--split tune` may be looked into while the search is improved, `--split held` is only measured.

python -m experiments.discovery.run_harder --split tune [--smoke] [--jobs 2] [--noise 0 0.01]
"""

from __future__ import annotations

from experiments.discovery.feynman import KEY, sweep
from experiments.discovery.harder import SPLITS, harder
from experiments.table import Table, arguments


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.001, 0.01])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--label", default="", help="end of the file's name: a measurement apart")
    options = parser.parse_args()
    if options.smoke:
        problems = [p for p in harder("tune") if len(p.names) == 1][:2]
        sweep(Table("harder_smoke", KEY, fresh=True), problems, [0.0], 1, options.jobs)
        return
    name = f"harder_{options.split}" + (f"_{options.label}" if options.label else "")
    table = Table(name, KEY)
    sweep(table, harder(options.split), options.noise, options.seeds, options.jobs)


if __name__ == "__main__":
    main()
