"""The claims of Garcelon et al. 2020, in the order of the paper. Its sections have no numbers; their titles stand for them."""

from ..register import Claim, Reading, register_claims

CLAIMS = register_claims([
    # Limitations of the existing algorithms
    Claim("fig1-oracle-near-ucb", "Limitations, Figure 1",
        'CUCB with the exact condition "has almost the same regret as UCB": the condition itself costs little', "", "inequality"),
    Claim("fig1-cucb-above-oracle", "Limitations, Figure 1",
        'with the condition estimated by lower bounds "CUCB has a much higher regret" than with the exact one', "", "order"),
    # CLUCB2
    Claim("martingale-bound", "Section CLUCB2, Eq 5",
        "with probability at least 1 - delta the sum of rewards minus means over the rounds in S stays within psi_L(t)",
        "1 - delta", "guarantee"),
    Claim("update-cost", "Section CLUCB2",
        "an update of CLUCB and of CLUCB2 costs O(A d^3): the test of every arm is dominated by the choice of the arm",
        "O(A d^3)", "order", not_shown="An order of growth without constants, of an implementation that is not ours."),
    # Theoretical analysis
    Claim("thm1-safe", "Theorem 1",
        "CLUCB2 satisfies the conservative condition (at every round) with probability 1 - delta", "1 - delta", "guarantee"),
    Claim("thm1-regret", "Theorem 1, Eq 9; constants at the end of its proof in Appendix A",
        "with probability at least 1 - delta the regret of CLUCB2 is at most LinUCB's bound plus a term that does not grow with n",
        "1 - delta", "guarantee"),
    Claim("same-order", "Theoretical Analysis, after Theorem 1; abstract",
        'the regret bound of CLUCB2 "is of the same order as the bound for CLUCB"', "", "order",
        not_shown="A comparison of two proofs' orders, not of regrets."),
    Claim("psi-below-width", "Discussion on martingale bound",
        "beta_t ||x||_{V^-1} of Eq 4, x the sum of the arms played, is larger than the martingale term psi_L(t), by a factor of the "
        "order of sqrt(d)", "sqrt(d)", "order"),
    Claim("plays-bound-half", "Theoretical Analysis, after Theorem 1, and Discussion on martingale bound",
        "the bound on alpha mu_l |S^b_n| is smaller than CLUCB's by a factor of at least 2 (48 instead of 114 times d^2 c_1^2 / (alpha "
        'mu_l)); "the regret of CLUCB is at least half of the one of CLUCB2"', "2 (48 against 114)", "inequality"),
    Claim("selection-never-worse", "Discussion on action selection",
        'optimism with respect to the baseline suffices "to guarantee that the new action selection strategy is never worse than CUCB"',
        "", "order"),
    Claim("selection-example", "Discussion on action selection, last paragraph",
        "in the example of N > 3 arms with a second arm without variance and Bernstein intervals the arm of E2 is almost always arm 2, "
        'and "CLUCB2 will have a regret strictly better than CLUCB"', "", "order"),
    # Checkpoint-based conservative exploration
    Claim("thm2-safe", "Theorem 2",
        "CLUCB2T satisfies the condition at every checkpoint with probability at least 1 - delta", "1 - delta", "guarantee"),
    Claim("thm2-regret", "Theorem 2 and the paragraph after it; constants at the end of its proof in Appendix A",
        "the regret of CLUCB2T is at most LinUCB's bound plus a term for the constraint, which from T~ >= C_b on falls with T and can "
        'become 0: "the standard regret bound of LinUCB"', "1 - delta", "guarantee"),
    Claim("longer-periods-fewer-baseline-rounds", "Checkpoint-based Conservative Exploration, after Theorem 2",
        'as T gets larger "the baseline is selected less often and more time is spent in exploring different actions"', "", "shape"),
    Claim("checkpoints-least-gap", "Alternative checkpoint schemes",
        "if the time between checkpoints is at least T_min, the same holds with T_min in the place of T", "1 - delta", "guarantee"),
    Claim("checkpoints-random-gap", "Alternative checkpoint schemes",
        'if T is random with a known distribution, "the 1 - delta/2 quantile of T" recovers the guarantee with high probability',
        "1 - delta/2", "guarantee"),
    # Experiments, synthetic environments: Bernoulli arms
    Claim("mab-m", "Synthetic Environments, Figure 3 (top)",
        "the martingale bound alone (CUCB-M) reduces CUCB's regret by 43 %, on the worst model", "43 %", "value"),
    Claim("mab-s-below-l", "Synthetic Environments, Figure 3 (top)",
        'constrained selection (CUCB-S) "is much more effective than CUCB-L", on the worst model', "", "order"),
    Claim("mab-s", "Synthetic Environments, Figure 3 (top)",
        "constrained selection alone (CUCB-S) reduces CUCB's regret by 12 %, on the worst model", "12 %", "value"),
    Claim("mab-cucb2-half", "Synthetic Environments, Figure 3 (top)",
        'both together (CUCB2) reduce the regret of CUCB by "more than 51 %", even on the worst model', "more than 51 %", "inequality"),
    Claim("mab-cucb2-near-oracle", "Synthetic Environments, Figure 3 (top)",
        'CUCB2 "gets much closer to CUCB-Or" than CUCB', "", "order"),
    # linear arms
    Claim("linear-s-matches", "Synthetic Environments, Figure 3 (bottom)",
        'contrary to Bernoulli arms "the main improvement is obtained by CLUCB-S, whose performance matches CLUCB2 and even the oracle '
        'variant", on the worst model', "", "inequality"),
    Claim("linear-improvement", "Synthetic Environments, Figure 3 (bottom)",
        "CLUCB-S, like CLUCB2, reduces CLUCB's regret by 38 %, on the worst model", "38 %", "value"),
    Claim("linear-average", "Synthetic Environments; Appendix B, Figure 7 (c)",
        'on average over linear models "similar behaviors and performance improvements as in the MAB setting": both changes help',
        "", "order"),
    Claim("e2-share", "Synthetic Environments",
        "in the first 5,000 rounds, a quarter of all, a safe arm other than the UCB arm and the baseline is played in 38.7 % of them, on "
        "average over linear models with the 3rd best arm as baseline", "38.7 % ± 9 %", "value"),
    # checkpoints
    Claim("fig4-falls", "Checkpoint-based Condition, Figure 4",
        'the difference in regret between CUCB2T and UCB "decreases as T increases", over 15 values of T from 1 to n', "", "shape"),
    Claim("fig4-end-differs", "Checkpoint-based Condition, Figure 4",
        '"even for T = n, CUCB2T and UCB are different", as CUCB2T may discard UCB\'s arm to be safe; a T large enough makes them the '
        "same", "", "inequality"),
    Claim("fig4-stronger-baseline", "Checkpoint-based Condition",
        '"the stronger the baseline, the less is the margin" that checkpoints leave for improvement', "", "order"),
    # Experiments, data
    Claim("jester-best", "Dataset-based Environments, Figure 5",
        "CLUCB2 performs best (of the algorithms that are conservative at every round), averaged over users", "", "order"),
    Claim("jester-half", "Dataset-based Environments, Figure 5",
        'CLUCB2 has "a regret that is less than half of CLUCB"', "less than half", "inequality"),
    Claim("jester-sparser", "Dataset-based Environments, Figure 5",
        '"as the checkpoints become sparser, the performance of CLUCB2 approaches the one of LinUCB": T = 1, then 5, 10, 12 % of n',
        "", "order"),
    # Appendix A
    Claim("lemma1-plays", "Appendix A, Lemma 1",
        "with probability 1 - delta the rounds in which CLUCB2 does not play the optimistic arm, |S^b_n| + |S^+_n|, are bounded for all n",
        "1 - delta", "guarantee"),
    Claim("lemma3-plays", "Appendix A, Lemma 3",
        "the number of such rounds of CLUCB2T has a bound that falls with T from T~ >= C_b on", "", "guarantee"),
    # Appendix B, Bernoulli arms
    Claim("mab-every-model", "Appendix B, Worst Case Model, after Eq 31",
        'CUCB2 "achieves consistently better regret than CUCB": the difference was positive for each of the 70 models',
        "every model", "order"),
    Claim("mab-best-near-average", "Appendix B, Figure 6 (b, c)",
        'the best model and the average "are very similar, meaning that the distribution of the results is very concentrated close to '
        'the best one"', "", "inequality"),
    Claim("unconstrained-violates", "Appendix B, Figures 6 (d, g-i), 7 (g-i) and 8 (left)",
        'UCB and LinUCB explore "heavily at the beginning": their budget falls far below 0 on Bernoulli arms, linear arms and Jester',
        "", "shape"),
    Claim("early-budget-with-checkpoints", "Appendix B, Figures 6 (g-i) and 8 (left)",
        "between checkpoints the budget of CUCB2T and CLUCB2T is negative at first, as they follow LinUCB's exploration until the "
        "condition makes them play the baseline", "", "shape"),
    Claim("safety-costs", "Appendix B, Figure 6",
        'the other conservative algorithms "trade-off some level of performance (regret) in order to be safe": it is above that of UCB',
        "", "order"),
    Claim("parallel-budgets", "Appendix B, Figures 6 (d-f) and 8 (right)",
        'in the end "all the lines are parallel meaning that all the algorithms have reached nearly optimal policies"', "", "shape"),
    Claim("budgets-by-regret", "Appendix B, Figures 6 (d-f) and 8 (right), drawn also in Figure 7 (d-f)",
        '"the better the algorithm the higher the budget"; algorithms are ordered by budget as they are by regret', "", "order"),
    Claim("conservative-never-violates", "Appendix B, Figure 6 (g-i), drawn also in Figure 7 (g-i)",
        "the conservative algorithms never violate the constraint (expected rewards, at every round)", "never", "guarantee"),
    # Appendix B, linear arms
    Claim("linear-s-beats-oracle", "Appendix B, Figure 7 (a)",
        "on the worst model the algorithms with the new action selection (CLUCB-S, CLUCB2) outperform CLUCB-Or", "", "order"),
    Claim("linear-m-on-average-only", "Appendix B, Figure 7 (a, c)",
        "the martingale bound alone (CLUCB-M) brings no significant improvement on the worst model, but it lowers the regret on average",
        "", "order"),
    # Appendix B, Jester
    Claim("jester-linucb-highest-budget", "Appendix B, Figure 8 (right)",
        'LinUCB "is the one building the higher budget since it is the first one to converge toward optimal arms"', "", "order"),
])  # fmt: skip

READINGS = (
    Reading("shifted", "means that fill [0, 1] by moving and scaling Gaussian features, Eq 4 clipped at 0 as a whole, radii with the norms "
        "that there are", ("fig3-linear", "fig7", "e2"), "the authors' public code and a search", 18),
    Reading("index by rounds", "mean + sqrt(ln t / n) as every arm's index, the baseline's too; lower bounds of Wu et al. with sigma 1, "
        "psi with 1/2", ("fig3-mab", "fig1", "fig6"), "a search", 25),
    Reading("filled", "every user's means fill [0, 1], features moved and scaled for each user; theta is a row of left singular vectors",
        ("fig5", "fig8"), "the authors' public code and a search", 4),
)  # fmt: skip
