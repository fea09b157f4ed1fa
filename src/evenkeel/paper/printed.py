"""Table 1 and the experiments as the paper prints them (§ «Experiments» and its appendix). Nothing here is ours."""

from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """One line of Table 1, as text, so that the number of printed digits is kept."""

    accuracy: str
    worst20_accuracy: str
    best20_accuracy: str
    R: str
    gini: str


COLUMNS: Mapping[str, str] = {
    "accuracy": "accuracy",
    "worst20_accuracy": "worst 20 %",
    "best20_accuracy": "best 20 %",
    "R": "R",
    "gini": "Gini",
}

TABLE1: Mapping[str, Mapping[str, Row]] = {
    "mnist": {
        "fedavg": Row(".7080", ".4239", ".9376", "7.966", ".3496"),
        "scaffold": Row(".7425", ".6026", ".8980", "3.154", ".2047"),
        "safl": Row(".8976", ".8295", ".9538", "2.992", ".2084"),
        "drfa": Row(".8969", ".8265", ".9613", "4.378", ".2520"),
        "scaff-pd": Row(".8837", ".8204", ".9436", "2.567", ".1870"),
        "scaff-pd-ia": Row(".9005", ".8483", ".9523", "2.483", ".1802"),
    },
    "cifar10": {
        "fedavg": Row(".1704", ".0006", ".3937", "2.135", ".1587"),
        "scaffold": Row(".1365", ".0000", ".3453", "1.612", ".1013"),
        "safl": Row(".3560", ".2532", ".4711", "1.187", ".0345"),
        "drfa": Row(".3402", ".0615", ".5761", "2.277", ".1671"),
        "scaff-pd": Row(".3682", ".2452", ".4792", "1.187", ".0345"),
        "scaff-pd-ia": Row(".3693", ".2504", ".4752", "1.167", ".0307"),
    },
}

# The appendix: R = 100, n = 100, J = 5 but for SAFL, Dirichlet(.5) a class, 80:20, 50 hidden units, half dropped.
ALGORITHMS: Mapping[str, Mapping[str, float]] = {
    "fedavg": {"eta": 0.1},
    "scaffold": {"eta": 1e-2, "tau": 2.5e-2},
    "safl": {"eta": 0.1, "sigma": 1e-3, "alpha": 0.2},
    "drfa": {"eta": 0.1, "sigma": 1e-3, "alpha": 0.2},
    "scaff-pd": {"eta": 1e-2, "tau": 2.5e-2, "sigma": 1e-3, "alpha": 0.2},
    "scaff-pd-ia": {"eta": 1e-2, "tau": 2.5e-2, "sigma": 1e-3, "alpha": 0.2, "beta": 0.2, "phi": 0.2},
}
ROUNDS, CLIENTS, LOCAL = 100, 100, 5
