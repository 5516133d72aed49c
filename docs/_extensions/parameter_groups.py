"""Parameters of the functions that have many, in groups: a heading, and the names under it.

`tests/test_docs.py` holds them against the signatures.
"""

_TABULAR = {
    "The model": "depth pairs forbid monotone",
    "The table": "special_values",
    "The fit": "refinements random_state n_jobs time_limit verbose",
}
_MEASUREMENT = "sigma x_sigma loss noise_model"

GROUPS: dict[str, dict[str, str]] = {
    "discover": {
        "The table": "X y names target constants",
        "Errors of measurement": f"{_MEASUREMENT} noise",
        "Several experiments": "by",
        "What you know of the law": (
            "forms template units absorb_units limits shape positive periodic"
        ),
        "What the search may use": "without functions",
        "The run": "time_limit seed callbacks",
    },
    "fit_law": {
        "The formula and the table": "form X y names target constants units",
        "Errors of measurement": _MEASUREMENT,
        "Several experiments": "by shared shrink",
        "The numbers": "bounds fixed",
        "The run": "seed callbacks",
    },
    "discover_dynamics": {
        "The series": "t X names inputs run by noise_model units",
        "The kind of equations": "order discrete autonomous known without",
        "The run": "time_limit callbacks",
    },
    "RANRegressor": {
        **_TABULAR,
        "The model": "depth pairs forbid monotone loss link power quantiles",
    },
    "RANClassifier": {**_TABULAR, "The model": "depth pairs forbid monotone class_weight"},
    "RANOrdinal": {**_TABULAR, "The model": "order pairs forbid monotone class_weight"},
    "RANSurvival": {**_TABULAR, "The model": "pairs forbid monotone"},
    "fit": {
        "Model and data": "model data validation loss",
        "The optimiser": "optimizer epochs batch_size learning_rate weight_decay denominator_rate "
        "gate_rate denominator_decay schedule warmup clip accumulate average "
        "precision",
        "Sparsity and pairs": "penalty penalized topology size",
        "Stopping and starting again": "patience restarts restart_noise n_jobs processes seed "
        "time_limit",
        "Checkpoints and progress": "checkpoint checkpoint_every resume metrics callbacks progress",
    },
    "Rational1d": {
        "The unit": "features degrees denominator base heads groups gate eps constant reach",
        "The start": "init init_range noise",
        "Tensors": "dim device dtype",
    },
    "RAN": {
        "The structure": "in_features out_features topology readout",
        "The units": "degrees pair_degree heads denominator base pair_base gate eps constant",
        "The start": "init noise",
        "The rest": "observed device dtype",
    },
}
