"""What every form of the regression answers."""

from ...verbs import verb


@verb()
def predict(model, context):
    """Bring mean and square up to date for this round's arms."""


@verb()
def learn(model, context, arm, reward):
    """Take in one reward."""


@verb()
def refresh(model):
    """Replace the rank-one path by a fresh factorisation."""


@verb()
def sample(model, scale, out, rng):
    """Fill out (K,) with x_k' theta, theta ~ N(theta_hat, scale^2 V^-1): one joint draw. Call `predict` first."""
