"""The claims of Yang & Toni 2020, in the order of the paper. The text at hand ends in Appendix D; E, F and G are known by their mention."""

from ..register import Claim, Reading, register_claims

CLAIMS = register_claims([
    # Section 4.1, the algorithm
    Claim("lemma1-suboptimal", "Section 4.1, Lemma 1",
        "if S_i < 0, arm i is suboptimal: no optimal arm is ever put into L (where Eq 3 holds)", "", "guarantee"),
    Claim("lemma1-order", "Section 4.1, Lemma 1, and the paragraph after Lemma 2",
        "if S_i >= S_j >= 0, the upper confidence bound of i is at least that of j, and i is played at least as often (p_i >= p_j)",
        "", "guarantee"),
    Claim("lemma2-mass", "Section 4.1, Lemma 2",
        "gamma_t of Eq 9 guarantees at any round that arms in U get probability at least delta and those in L less than 1 - delta",
        "1 - delta", "guarantee"),
    # Section 4.2, the gradient
    Claim("eq10-bound-holds", "Section 4.2, Eq 10",
        'the constraint "ensures that beta ||x_i|| is indeed an actual upper confidence bound (UCB) at any round t" for any arm',
        "every arm and round", "guarantee"),
    Claim("gradient", "Section 4.2, Eq 12 and 13; Appendix C",
        "the expected cumulative reward is differentiable in beta, and its gradient is Eq 12 (Eq 13 with estimated means)",
        "", "guarantee"),
    Claim("local-optimum", "Section 4.2, after Eq 13",
        '"as a stochastic gradient method, under standard condition of learning rate" beta-hat converges to a local optimum', "", "shape"),
    # Section 4.3, training
    Claim("beta-maximises-reward", "Section 4.3, Offline setting; Section 5, Figure 1",
        'beta-hat "is optimized in such a way that it maximizes the expected cumulative reward of arm set A"', "", "order"),
    Claim("cost", "Section 4.3",
        "offline training costs O(N K T), the online form O(K T), as much as OFUL, LinUCB and LinTS", "O(N K T), O(K T)", "order",
        not_shown="An order of growth that leaves out d and all constants."),
    # Section 4.4, theory
    Claim("thm1-regret", "Section 4.4, Theorem 1, Eq 16",
        "with gamma of Lemma 2 and delta near 1 the regret of offline SoftUCB is bounded for every T",
        "4 sqrt(2) beta-hat delta sqrt(T d log(alpha + T/d))", "guarantee"),
    Claim("thm1-order", "Section 4.4, after Theorem 1",
        "the regret bound scales with d and T as that of OFUL, LinUCB and Giro", "O(beta sqrt(d T))", "order",
        not_shown="A comparison of two bounds' orders, not of regrets."),
    # Section 5, Figure 1
    Claim("beta-converges", "Section 5, Figure 1 (a, c); Appendix F for the cells of Table 1",
        "beta-hat converges, offline and online", "", "shape"),
    Claim("regret-converges", "Section 5, Figure 1 (b, d)", "the regret R_T converges, offline (by trajectory) and online", "", "shape"),
    # Section 5, Table 1
    Claim("table1-beta-hat", "Table 1",
        "the learned beta-hat at (d, T) = (5, 2^8), (5, 2^9), (5, 2^10), (10, 2^10), (15, 2^10)", "0.5, 0.6, 0.9, 1.1, 1.2", "value"),
    Claim("table1-beta-tilde", "Table 1, Eq 5", "the theoretical beta-tilde in the same cells", "2.56, 2.66, 2.76, 3.25, 3.61", "value"),
    Claim("table1-growth", "Table 1 (its numbers; the text does not say it)",
        "beta-hat grows with T at d = 5 and with d at T = 2^10", "0.5 to 0.9, 0.9 to 1.2", "shape"),
    Claim("beta-below-theory", "Section 5, Table 1; abstract",
        'beta-hat "is significantly less than beta-tilde consistently in all cases"',
        "0.5 against 2.56, ..., 1.2 against 3.61", "inequality"),
    Claim("beta-adapts", "Section 5, after Table 1",
        'beta-hat "is adaptive to the structure of A" and "highly data-dependent"', "", "inequality"),
    # Section 5, Figure 2
    Claim("regret-below-rivals", "Section 5, Figure 2 (a-d)",
        "SoftUCB, offline and online, has lower regret than LinUCB, LinTS and epsilon-greedy, for d = 10, d = 20, MovieLens and Jester",
        "", "order"),
    Claim("learned-beta-lowers-regret", "Section 4.3, Offline setting; Section 5, Figure 2, first reason",
        'the smaller, optimised beta-hat itself brings "a significant regret reduction" against beta-tilde', "", "order"),
    Claim("elimination-lowers-regret", "Section 5, Figure 2, second reason",
        'eliminating suboptimal arms softly "accelerates the rate of convergence"', "", "order"),
    Claim("online-starts-uniformly", "Section 5, Figure 2",
        "the regret of SoftUCB online is large at first, while L is empty and arms are drawn uniformly, and under control later",
        "", "shape"),
    # Section 5, the multiplier eta
    Claim("large-eta-fails", "Section 5, last paragraph",
        '"with large eta, the gradient ascent algorithm fails in converging", as the term with eta dominates the gradient', "", "shape"),
    Claim("small-eta-loses-best-arm", "Section 5, last paragraph",
        'too small an eta "does not ensure the key constraint", which "can lead to erroneously eliminating the optimal arm"', "", "order"),
])  # fmt: skip

READINGS = (
    Reading("eta by cell", "eta of the training tuned for every cell, as the text says; 0.002, 0.002, 0.003, 0.005, 0.006",
        ("table1",), "the paper's text; the values from a search", 8),
)  # fmt: skip
