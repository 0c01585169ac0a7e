"""PyMAB: whole experiments in its Rust core."""

from importlib.metadata import version as installed

from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
from pymab.policies import KLUCBPolicy, UCBPolicy
from tasks import KLUCB, UCB


def experiment(kind):
    def play(task):
        config = ExperimentConfig(horizon=task.rounds, n_replicates=1, seed=1, backend="rust")
        environment = BanditEnvironment(means=task.means, reward_model=BernoulliReward())
        result = Experiment(
            environment=environment, policies={"it": kind(n_arms=task.means.size)}, config=config
        ).run()
        return float(result.cumulative_regret.reshape(-1)[-1])

    return play


def version():
    return installed("pymab")


PLAYS = {
    UCB: ("UCBPolicy, Rust", experiment(UCBPolicy)),
    KLUCB: ("KLUCBPolicy, Rust", experiment(KLUCBPolicy)),
}
