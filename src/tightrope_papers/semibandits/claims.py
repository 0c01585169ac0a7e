"""The claims of Takemura, Ito (2019), in the order of the paper; of other papers' theorems only what this one extends or relies on."""

from ..register import Claim, register_claims

CLAIMS = register_claims([
    # Section I: introduction
    Claim("slow-early", "Section I",
        'rewards of existing algorithms "grow particularly slowly in early rounds when the feature vectors of arms form many large '
        'clusters"', "", "shape"),
    Claim("same-without-features", "Section I, footnote 1",
        "round-wise and arm-wise randomization are indistinguishable in standard (non-contextual) bandit problems", "", "guarantee"),
    # Section IV-A and Section V: why clusters matter
    Claim("clusters-chosen", "Section IV-A, Section V, Figure 1",
        'equal features have equal estimates, so that "all arms in the super arm belong to the same cluster" (C2UCB, CombLinUCB, '
        'CombLinTS, round-wise Thompson sampling); arm-wise randomization spreads estimates and gives "arms from different clusters"',
        "one cluster; several", "shape"),
    Claim("sub-optimal-cluster", "Section IV-A",
        'C2UCB "often chooses a sub-optimal cluster" and "may stop before finding an optimal cluster" where rounds are fewer than '
        "clusters", "", "inequality"),
    Claim("found-earlier", "Section V",
        'the arm-wise algorithms thereby discover an optimal cluster "in earlier rounds" than C2UCB and round-wise Thompson sampling',
        "", "order"),
    # Section VI: regret analysis
    Claim("theorem-1", "Theorem 1",
        "arm-wise Thompson sampling with v_t = beta_t(delta / (4NT)): regret of order max(d, sqrt(d lam)) sqrt(d k T) for lam >= k, "
        "times sqrt(k / lam) for lam <= k, with probability at least 1 - delta", "1 - delta", "guarantee"),
    Claim("theorem-2", "Theorem 2",
        "round-wise Thompson sampling with v_t = beta_t(delta / (4T)): the same order of regret with probability at least 1 - delta",
        "1 - delta", "guarantee"),
    Claim("theorem-3", "Theorem 3; Theorem 4 for c = 0",
        "PC2UCB, and C2UCB as its case c = 0, with alpha_t = beta_t(delta): regret of order max(sqrt(d), sqrt(lam)) sqrt(d k T) for lam "
        ">= k, times sqrt(k / lam) for lam <= k, with probability at least 1 - delta", "1 - delta", "guarantee"),
    Claim("bounds-compared", "Section VI",
        'PC2UCB\'s bound matches that of C2UCB, "the best theoretical guarantee among known regret bounds"; those of Thompson sampling '
        '"have a gap from that"', "", "order",
        "Two orders of growth without constants are compared, which is a matter of formulas and of the literature."),
    # Section VII-C: artificial clustered cases
    Claim("artificial-arm-wise", "Section VII-C, Figure 2",
        'where features of different clusters are almost orthogonal (large angles), "the proposed algorithms outperform the existing '
        'algorithms": PC2UCB above C2UCB, arm-wise above round-wise Thompson sampling, both above all but greedy', "", "order"),
    Claim("artificial-angle", "Section VII-A1, Section VII-C, Figure 2",
        'the inner product of features is "a crucial property to the performance": the larger the angle, the worse does choosing from '
        "one cluster", "", "shape"),
    Claim("artificial-greedy", "Section VII-C, Figure 2",
        'greedy performs well because it "chooses various feature vectors in the first round"', "", "order"),
    # Section VII-C: MovieLens
    Claim("orthogonal-users", "Section VII-C, Figure 3",
        '"many feature vectors are almost orthogonal": cosines of pairs of 10,000 users, without the bias element', "many", "shape"),
    Claim("clustered-users", "Section VII-C",
        '"the users in the MovieLens dataset have the clustered structure which affects the performances in early rounds"', "", "shape",
        "No measure of a clustered structure is given; its effect is a claim of its own, on Figure 4."),
    Claim("movielens-rewards", "Table I",
        "cumulative rewards of seven algorithms at k = 50, 100, 150, 200 (ML-20M)", "1588.6 to 11147.2, 28 numbers", "value",
        data="Table I is of ML-20M, which is not at hand; rows on smaller ones are shown."),
    Claim("movielens-ten-percent", "Section VII-C, Table I",
        '"the cumulative reward of our algorithms is almost 10 % higher than that of among baseline algorithms", at every k (as printed, '
        "best against best: +5.6, +6.5, +7.3, +10.5 %)", "almost 10 %", "value",
        data="Table I is of ML-20M, which is not at hand; rows on smaller ones are shown."),
    Claim("pc2ucb-first", "Section VII-C, Table I, Figure 2",
        '"PC2UCB outperforms other algorithms in several cases": on MovieLens it has the largest reward at every k', "", "order",
        data="Table I is of ML-20M, which is not at hand; rows on smaller ones are shown."),
    Claim("movielens-pc2ucb", "Abstract, Table I",
        "PC2UCB above C2UCB, which it is without the technique, at every k (as printed: +5.6, +9.8, +12.8, +14.8 %)", "", "order",
        data="Table I is of ML-20M, which is not at hand; rows on smaller ones are shown."),
    Claim("movielens-arm-wise", "Abstract, Table I",
        "arm-wise above round-wise Thompson sampling at every k (as printed: +8.6, +11.7, +9.7, +12.4 %)", "", "order",
        data="Table I is of ML-20M, which is not at hand; rows on smaller ones are shown."),
    Claim("movielens-greedy", "Section VII-C, Table I",
        'in contrast to the artificial data greedy "performs poorly": the least reward of all seven at every k', "", "order",
        data="Table I is of ML-20M, which is not at hand; rows on smaller ones are shown."),
    Claim("movielens-early", "Section VII-C, Figure 4",
        '"our algorithms outperform the existing algorithms in early rounds" (average reward up to each round)', "", "order",
        data="Figure 4 is of ML-20M, which is not at hand. On ML-1M (rated or not, no stars) it does not hold for arm-wise Thompson "
        "sampling, which earns less than CombLinUCB in 200 fresh trials; these rows are shown."),
    # Appendix: lemmas
    Claim("lemmas-5-6", "Lemmas 5 and 6",
        "the sum of squared widths of all arms chosen is at most 2d log(1 + kT/d) for lam >= k, and (2kd / lam) log(1 + kT/d) in the "
        "scaled design for any lam > 0", "2d log(1 + kT/d)", "guarantee"),
    Claim("lemma-7", "Lemma 7",
        "theta and all arms' draws stay within their ellipsoids in all rounds with probability at least 1 - delta/2",
        "1 - delta/2", "guarantee"),
    Claim("lemma-8", "Lemma 8, used for arm-wise draws in Appendix F1",
        "given the past, a draw is optimistic (its best set is worth at least the true best set) with probability at least p/2",
        "p/2, p = 1 / (4 sqrt(e pi))", "guarantee"),
])  # fmt: skip
