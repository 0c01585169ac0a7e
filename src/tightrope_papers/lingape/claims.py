"""The claims of Xu, Honda, Sugiyama (2018), in the order of the paper. The text at hand has lost most of its mathematics: numbers in
formulas are the constants of a derivation, not of the print. Arms are counted from 1, as in the paper."""

from ..register import Claim, register_claims

CLAIMS = register_claims([
    # Section 1: introduction
    Claim("ten-times", "Section 1, Section 7.1.1",
        'LinGapE "requires ten times less samples than existing methods to achieve the same level of accuracy" (XY-static and '
        "XY-adaptive of Soare et al., which do not know theta)", "ten times", "inequality"),
    # Section 5: the algorithm
    Claim("ratio-optimal", "Section 5.1, Equations 7, 10 and 11, Appendix B",
        "the ratio p* from the linear program is the limit of the best sequence of arms for one difference y, and the program's value "
        "rho(y) that of n ||y||^2 in the inverse design", "", "guarantee"),
    Claim("theorem-1", "Theorem 1",
        '"whichever the strategy", greedy (9) or by ratio (12), the arm returned is worse than the best by more than epsilon with '
        "probability at most delta", "delta", "guarantee"),
    Claim("gap-example", "Section 5.2",
        "three arms, the gap of 1 and 2 known, theta still unsure elsewhere: a bound on each arm's own reward (UGapE) names arm 2 as the "
        "challenger, LinGapE's bound on the gap avoids this and names arm 3", "", "order"),
    # Section 6: sample complexity
    Claim("theorem-2", "Theorem 2, Equations 16 and 17",
        "with the ratio rule the stopping time stays within a bound that grows like the complexity H of Equation 13 times the logarithm "
        "of K^2 / delta: one for a lam that is small against known parameters, one for a lam that is large against H", "", "guarantee"),
    Claim("theorem-3", "Theorem 3",
        'with epsilon = 0 the complexity H is at most a multiple of K times that of XY-oracle: "matches the lower bound up to a factor '
        'of" K', "K", "guarantee"),
    Claim("one-near-rival", "Section 6.2, abstract",
        'if there is only one near-optimal arm, H "achieves the lower bound up to a constant factor", whatever K is', "", "guarantee"),
    Claim("canonical-complexity", "Section 6.2",
        "with the canonical vectors as features p*, rho and H have a closed form, and H is a constant times the complexity of UGapE",
        "", "guarantee"),
    # Section 7.1: both synthetic settings
    Claim("rules-alike", "Section 7.1",
        '"altering the arm selection strategy in (9) and in (12) has very little impact on the performance" in both settings',
        "very little", "value"),
    # Section 7.1.1: near-parallel arms
    Claim("near-parallel-first", "Section 7.1.1, Figure 1",
        "LinGapE needs fewer samples than XY-static and XY-adaptive at every d from 2 to 10", "", "order"),
    Claim("table-static", "Table 1",
        "pulls of each arm by XY-static, an example at d = 5", "1298590, 2546604, 2546666, 2546666, 2546666, 1273742", "value"),
    Claim("table-lingape", "Table 1", "pulls of each arm by LinGapE, an example at d = 5", "2133, 428889, 19, 34, 33, 11", "value"),
    Claim("table-oracle", "Table 1", "pulls of each arm by XY-oracle, an example at d = 5", "13646, 2728606, 68, 68, 68, 1", "value"),
    Claim("table-focus", "Section 7.1.1, Table 1",
        '"while XY-static allocation pulls all arms equally, LinGapE and XY-oracle allocation pull" arm 2 frequently (as printed, '
        "XY-static pulls two of the six arms half as often as the rest)", "", "order"),
    Claim("adaptive-worse", "Section 7.1.1, Figure 1; Sections 1 and 7.1.2",
        'XY-adaptive performs much worse than XY-static, "at least five times worse", in all three experiments, and hence than XY-oracle',
        "at least five times", "inequality"),
    Claim("adaptive-forgets", "Section 7.1.1; Section 6.2",
        "XY-adaptive is down to arms 1 and d + 1 in its first phases, takes discarded arms back since its design is reset, and its last "
        'phase, with all arms, "requires as many samples as XY-static allocation"', "as many", "shape"),
    Claim("beats-oracle", "Section 7.1.1, Figure 1",
        '"LinGapE wins over XY-oracle allocation", which knows theta (431,119 against 2,742,457 samples in Table 1)', "", "order"),
    Claim("tighter-bound", "Section 7.1.1",
        '"our confidence bound is tighter than that used in XY-oracle allocation", though looser by a factor of sqrt(d) in the worst '
        'case: det(A_t) "grows almost linearly with" t, not like t^d, since LinGapE mostly pulls the same arm', "", "inequality"),
    # Section 7.1.2: canonical arms
    Claim("canonical-first", "Section 7.1.2, Figure 2",
        "LinGapE needs fewer samples than XY-static at every gap from .1 to .5, though uniform pulls are the best static design",
        "", "order"),
    Claim("canonical-grows", "Section 7.1.2, Figure 2",
        'the gap of the performance increases as the gap of the arms falls to 0, "especially" at the smallest gap', "", "shape"),
    Claim("canonical-quits", "Section 7.1.2",
        "XY-static pulls all arms uniformly until all satisfy the stop, while LinGapE quits pulling an arm once it has turned out to be "
        "sub-optimal", "", "shape"),
    # Section 7.2: real data
    Claim("yahoo-five-times", "Section 7.2, Figure 3",
        '"LinGapE performs roughly five times better than the XY-static strategy", over all numbers of arms',
        "roughly five times", "value", data="The Yahoo! log may not be passed on; stand-ins are shown."),
    Claim("yahoo-grows", "Section 7.2, Figure 3",
        '"the gap of performances increases as we consider more arms", since XY-static estimates all arms equally', "", "shape",
        data="The Yahoo! log may not be passed on; stand-ins are shown."),
    Claim("yahoo-means", "Section 7.2, Appendix A",
        "the fitted means x'theta lie in [-1, 1] for all features of the dataset, so that they are always valid probabilities",
        "[-1, 1]", "inequality", "The log is not public, and stand-ins are scaled so that it holds."),
    # Appendices B and C
    Claim("lemma-1", "Lemma 1",
        "under the ratio rule, ||y||^2 in the inverse design is at most rho(y) / T(y), T(y) the least of T_k / p_k(y) over arms with "
        "p_k(y) > 0 (by Lemma 2: more data never widen a norm)", "", "guarantee"),
    Claim("lemma-3", "Lemma 3",
        "the confidence bounds of all gaps hold at all rounds with probability at least 1 - delta", "1 - delta", "guarantee"),
])  # fmt: skip
