"""Problems as Gymnasium environments, against Gymnasium's own checker."""

import numpy as np
import pytest

import tightrope as tr

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

PROBLEMS = {
    "arms": tr.problems.Bernoulli([0.2, 0.5, 0.8]),
    "features": tr.problems.Linear(np.eye(3), [0.1, 0.5, 0.2], noise=0.1),
    "contexts": tr.problems.ContextualLinear([0.6, 0.2], arms=3, noise=0.1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.filterwarnings("ignore:.*Box observation space m(in|ax)imum value is.*")
def test_gymnasium_accepts_the_environment(name):
    check_env(tr.adapters.gym.env(PROBLEMS[name], horizon=20), skip_render_check=True)


@pytest.mark.parametrize(
    ("name", "policy"), [("arms", tr.UCB()), ("contexts", tr.LinUCB(width="theorem", noise=0.1))]
)
def test_an_episode_is_a_replication_of_simulate(name, policy):
    """A session that plays the environment loses what `simulate` says, to the bit, in the first
    episode and the next."""
    problem, T = PROBLEMS[name], 60
    result = tr.simulate(
        problem, {"it": policy}, horizon=T, replications=2, seed=5, checkpoints=range(1, T + 1)
    )
    env = tr.adapters.gym.env(problem, T)
    for replication in range(2):
        seen, info = env.reset(seed=5) if replication == 0 else env.reset()
        about = {"arms": 3} if name == "arms" else {"arms": 3, "dimension": 2}
        session = tr.Session(
            policy, **about, horizon=T
        )  # neither policy draws, so the session's seed does not matter
        lost, over = [], False
        while not over:
            arm = session.select(seen if name == "contexts" else None)
            shown = seen
            seen, reward, ended, over, info = env.step(arm)
            assert not ended
            session.update(arm, reward, shown if name == "contexts" else None)
            lost.append(info["regret"])
        assert np.cumsum(lost).tolist() == result.regret["it"][replication].tolist()
    with pytest.raises(ValueError, match="episode is over"):
        env.step(0)


def test_what_does_not_fit_is_refused():
    gym = tr.adapters.gym
    with pytest.raises(ValueError, match="problem = 3 is not a problem"):
        gym.env(3, 10)
    with pytest.raises(ValueError, match="played with sets of arms"):
        gym.env(tr.problems.SemiBandit(np.eye(3), [0.1, 0.2, 0.3], tr.oracles.TopK(2)), 10)
    env = gym.env(PROBLEMS["arms"], 10)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action = 3 is not a whole number from 0 to 2"):
        env.step(3)
