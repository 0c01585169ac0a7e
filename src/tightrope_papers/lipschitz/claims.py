"""The claims of Magureanu, Combes, Proutiere (2014), in the order of the paper. Its text breaks off in Section 5.3: of the analysis of
CKL-UCB, the experiments and the contextual section only what the abstract, Section 1 and Section 4 say of them is here."""

from ..register import Claim, Reading, register_claims

CLAIMS = register_claims([
    # Abstract and Section 1
    Claim("oslb-exploits", "Abstract; Section 1",
        'OSLB "optimally exploits past observations and hence the problem specific structure": less regret than policies blind to it',
        "", "order",
        asymptotic="Optimal exploitation is shown in the limit only; up to 10^6 rounds OSLB has more regret than KL-UCB, see the rows."),
    Claim("ckl-exploits", "Abstract; Section 1, (b)",
        'CKL-UCB is "yet able to exploit the Lipschitz structure": less regret than policies blind to it', "", "order",
        settings="worlds"),
    Claim("continuous", "Abstract; Section 1, (d)",
        'on [0, 1], discretizing and then applying OSLB or CKL-UCB "significantly" outperforms existing algorithms for the continuous '
        "set of arms", "", "order", settings="worlds"),
    Claim("contextual", "Abstract; Section 1, (e)",
        'the bound and the algorithms "are extended to contextual bandits with similarities": contexts that are alike inform each other',
        "", "guarantee"),
    # Section 3: lower bound
    Claim("most-confusing", "Section 3, Figure 1",
        'lambda^k is "the most confusing reward vector" of those that satisfy the Lipschitz condition and make arm k optimal (17 arms in '
        "the figure)", "", "guarantee"),
    Claim("theorem-3-1", "Theorem 3.1",
        "a uniformly good algorithm has liminf R(T) / log T >= C(theta), the value of a linear program", "C(theta)", "guarantee"),
    Claim("gain-of-structure", "Section 3",
        'the bound is "smaller than the lower bound derived in [lai1985]" for unrelated arms, and the difference "quantifies the gain '
        'one may expect": blind policies grow faster than C(theta) log T', "", "inequality"),
    # Section 4.1: OSLB
    Claim("index-defined", "Section 4.1",
        '"the index b_k(n) is always well defined, even for small values of n", e.g. n = 1', "n = 1", "guarantee"),
    Claim("plays-of-oslb", "Section 3; Section 4.1",
        'an optimal algorithm plays sub-optimal arm k "roughly" c_k log(n) times: t_k(n) / (c_k(theta) log n) tends to 1', "1", "value",
        asymptotic="The number of plays over ln n has a limit; 10^6 rounds are far from it."),
    Claim("always-an-arm", "Section 4.1",
        'OSLB "is valid": whenever some index exceeds the leader\'s mean there is an arm to explore, K_e is not empty', "", "guarantee"),
    # Section 4.2: CKL-UCB
    Claim("forcing-unnecessary", "Section 4.2", '"in practice, the forced log log(n) exploration is unnecessary"', "", "inequality",
        settings="worlds"),
    Claim("low-arms-first", "Section 4.2",
        'exploring the least played of the possibly better arms first eliminates "arms whose expected reward is low", in few plays',
        "", "shape", settings="worlds and measures"),
    Claim("ckl-light", "Section 1, (b); Section 4.2",
        "CKL-UCB has lower computational complexity than OSLB, since it solves no linear program", "", "order"),
    Claim("ckl-robust", "Section 4.2",
        'CKL-UCB "should also be more robust than OSLB", whose program may be very sensitive to errors in the estimate of theta',
        "", "order", core_hours=3.0, price="4,000 runs of both on the quadratic with K = 46, if one in 130 of OSLB's is bad, as of 400",
        settings="worlds"),
    # Section 5: regret analysis
    Claim("theorem-5-1", "Theorem 5.1",
        "for delta >= K + 1 the weighted sum of divergences is at least delta with probability at most exp(-delta) (ceil(delta log n) "
        "delta / K)^K exp(K + 1), under any predictable sampling", "(5)", "guarantee"),
    Claim("unique-solution", "Section 5.2, Assumption 1",
        "the parameters for which the linear program has a unique solution are a dense subset of the Lipschitz vectors", "", "guarantee"),
    Claim("theorem-5-2", "Theorem 5.2",
        "OSLB(epsilon): R(T) <= C^delta(theta) (1 + epsilon) log T + C_1 log log T + K^3 / (epsilon delta^2) + 3K / delta^2 for all T",
        "(6)", "guarantee", "C^delta(theta) and C_1 are not given, and the last two terms alone exceed any run's regret for small delta."),
    Claim("oslb-optimal", "Section 5.2; abstract",
        "OSLB is asymptotically optimal: limsup R(T) / log T <= C(theta) (1 + zeta) for any zeta > 0, with epsilon small",
        "C(theta)", "guarantee", core_hours=16.0, price="some 180,000 runs of OSLB, of which few decide the mean"),
    Claim("ckl-finite-time", "Section 1, (c); Section 5.3",
        "finite time bounds for CKL-UCB with weaker guarantees than OSLB's: logarithmic regret, at a rate that the structure lowers (the "
        "rate is lost)", "", "guarantee", settings="worlds"),
])  # fmt: skip

READINGS = (
    Reading("f(n) = ln n + 3 ln ln n", "the constant of KL-UCB's theorem in every index, KL-UCB's too; the text leaves CKL-UCB's f(n) "
        "open, and prints 3K + 1 for the proof of OSLB", ("discrete", "slope", "contextual"),
        "the paper that it cites for KL-UCB", 3),
)  # fmt: skip
