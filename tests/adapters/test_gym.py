"""Problems as Gymnasium environments and back, against Gymnasium's own checker."""

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


@pytest.mark.parametrize(("name", "policy"), [("arms", tr.UCB()), ("contexts", tr.LinUCB(width="theorem", noise=0.1))])
def test_an_episode_is_a_replication_of_simulate(name, policy):
    """A session that plays the environment loses what `simulate` says, to the bit, in the first episode and the next."""
    problem, T = PROBLEMS[name], 60
    result = tr.simulate(problem, {"it": policy}, horizon=T, replications=2, seed=5, checkpoints=range(1, T + 1))
    env = tr.adapters.gym.env(problem, T)
    for replication in range(2):
        seen, info = env.reset(seed=5) if replication == 0 else env.reset()
        about = {"arms": 3} if name == "arms" else {"arms": 3, "dimension": 2}
        session = tr.Session(policy, **about, horizon=T)  # neither policy draws, so the session's seed does not matter
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


def test_there_and_back():
    """A problem, as an environment, as a problem again: policies lose the same."""
    T, policies = 50, {"UCB": tr.UCB(), "Thompson": tr.BetaThompson()}
    problem = PROBLEMS["arms"]
    back = tr.adapters.gym.problem_from_env(tr.adapters.gym.env(problem, T), rewards=(0, 1))
    found = tr.simulate(back, policies, horizon=T, replications=3, seed=1)
    gaps = 0.8 - problem.means
    for name in policies:
        assert found.regret[name][:, -1] == pytest.approx(found.pulls[name] @ gaps)
    again = tr.simulate(back, policies, horizon=T, replications=3, seed=1, workers=1)
    assert all(np.array_equal(found.pulls[name], again.pulls[name]) for name in policies)
    assert len({found.regret["Thompson"][r].tobytes() for r in range(3)}) == 3
    contexts = tr.adapters.gym.problem_from_env(lambda: tr.adapters.gym.env(PROBLEMS["contexts"], 10))
    learned = tr.simulate(
        contexts, {"LinUCB": tr.LinUCB(width="theorem", noise=0.1), "dice": tr.Explore(tr.LinUCB(), floor=1 / 3)}, horizon=300
    )
    assert learned.regret["LinUCB"][0, -1] < 0.5 * learned.regret["dice"][0, -1]


class Shared(gymnasium.Env):
    """Two arms; the one whose sign is that of the observation pays 1."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1, 2)
        return self.x, {}

    def step(self, action):
        reward = float(action == (self.x[0] > 0))
        self.x = self.np_random.uniform(-1, 1, 2)
        return self.x, reward, True, False, {}


def test_an_observation_that_all_arms_share():
    problem = tr.adapters.gym.problem_from_env(Shared(), best=1.0)
    result = tr.simulate(problem, {"LinUCB": tr.LinUCB(width="theorem", noise=0.5, delta=0.5)}, horizon=400, seed=2, checkpoints=[200, 400])
    late = np.diff(result.regret["LinUCB"][0])[0]
    assert late < 0.1 * 200  # blind guesses lose half


def test_what_does_not_fit_is_refused():
    gym = tr.adapters.gym
    with pytest.raises(ValueError, match="problem = 3 is not a problem"):
        gym.env(3, 10)
    with pytest.raises(ValueError, match="played with sets of arms"):
        gym.env(tr.problems.SemiBandit(np.eye(3), [0.1, 0.2, 0.3], tr.oracles.TopK(2)), 10)
    with pytest.raises(ValueError, match="does not say the regret"):
        tr.simulate(gym.problem_from_env(Shared()), tr.LinUCB(), horizon=5)
    with pytest.raises(ValueError, match=r"needs Discrete\(K\)"):
        gym.problem_from_env(gymnasium.make("Pendulum-v1"))
    env = gym.env(PROBLEMS["arms"], 10)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action = 3 is not a whole number from 0 to 2"):
        env.step(3)
