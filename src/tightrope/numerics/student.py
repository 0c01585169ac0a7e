"""How far a mean of Gaussian rewards with an unknown variance may be off: quantiles of Student's distribution, from above.

With nu degrees of freedom P(|T| > x) = I_b(nu / 2, 1 / 2), b = 1 / (1 + x^2 / nu), and the integral of t^(a - 1) (1 - t)^(-1/2) up to b
is at most b^a / (a sqrt(1 - b)). So P(|T| > x) <= b^a Gamma(a + 1/2) / (Gamma(a + 1) sqrt(pi (1 - b))) with a = nu / 2, an elementary
bound that compiled code can invert; where the chance is small its root exceeds the quantile by little (under 2 % at 0.01, for any nu).
"""

import math

from ..compiled.kernels import lean

LONGEST = 700.0  # of ln(1 / b), so that its exponential is a number
STEPS = 44  # of a bisection


@lean
def student_root(log_level, freedom):
    """An x with P(|T| > x) <= exp(log_level) <= 1/2, for T of Student's distribution with so many degrees of freedom."""
    a = 0.5 * freedom
    constant = math.lgamma(a + 0.5) - math.lgamma(a + 1.0) - 0.5 * math.log(math.pi)
    low, high = 0.0, LONGEST
    for _ in range(STEPS):
        u = 0.5 * (low + high)  # ln(1 / b)
        if constant - a * u - 0.5 * math.log(-math.expm1(-u)) > log_level:
            low = u
        else:
            high = u
    return math.sqrt(freedom * math.expm1(high))


@lean
def student_width(pulls, spread, delta):
    """Half of an interval that holds the mean for every number of pulls with probability 1 - delta; infinite before two different rewards.

    spread: sum of squared deviations from the mean of the rewards. delta is shared out as delta / (n (n - 1)) over n = 2, 3, ..
    """
    if pulls < 2.0 or not spread > 0.0:
        return math.inf
    freedom = pulls - 1.0
    root = student_root(math.log(delta) - math.log(pulls * freedom), freedom)
    return root * math.sqrt(spread / freedom / pulls)
