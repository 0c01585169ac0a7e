"""The promise of each estimator on the Open Bandit logs, judged by the mean that the other policy earned itself.

Each paragraph of the pipeline's paper that introduces an estimator says what it estimates and under which condition; its tables are
those of the full data and are not judged on the published sample.
"""

from ..register import Claim, Reading, register_claims

TRUTH = "the value of a policy from the other's log is that of its own log"
ESTIMATORS = {
    "ips": "inverse propensity scores are unbiased wherever the logging policy has support",
    "clipped-ips": "clipped weights keep the value where few weights are clipped",
    "snips": "weights that are divided by their sum are consistent",
    "dm": "the direct method is right as far as its model of rewards is",
    "dr": "doubly robust estimates are unbiased if the propensities or the model are right",
    "switch-dr": "the model stands in where weights are large, and lowers the variance",
    "aipw": "adaptive weights keep the estimate unbiased where the logger learns",
}

CLAIMS = register_claims(
    [
        *(Claim(name, "Estimators", f"{words}: {TRUTH}", "", "value") for name, words in ESTIMATORS.items()),
        Claim(
            "support", "Estimators", "no estimator helps where the logging policy hardly ever did what the other would do", "", "inequality"
        ),
    ]
)

READINGS = (
    Reading("pooled", "an estimator's mean over the campaigns that are not refused, each direction by itself", ("pooled",),
        "ours, after single campaigns had decided nothing", 2),
)  # fmt: skip
