"""The section of a simulation in a report: regret curves, final regret with paired differences, pull shares."""

from ..plots import sentences, style
from ..plots.curves import References, bound_curve, bound_left_out, regret_figure
from ..plots.pictures import picture
from ..plots.shares import shares_caption, shares_figure
from ..results.results import Result
from ..results.summary import regret_summary
from .page import Section, Table

WIDTH, HEIGHT = 4.4, 3.2  # inches: letters can be read on a telephone
FAR_RATIO = 5.0  # times the second lowest regret: a policy above it presses the others flat


def simulation_section(
    title: str, result: Result, *, text: str = "", log_rounds: bool = False, references: References | None = None,
    palette: style.Palette | None = None,
) -> Section:  # fmt: skip
    """Summary, curves, pull shares and the table of one result. palette: colours by name; default: of this section alone."""
    palette = style.Palette(result.policies) if palette is None else palette
    caption = "Mean cumulative pseudo-regret"
    caption += f"; bands are ± 2 standard errors of {result.replications:,} replications." if result.replications > 1 else "."
    for label, (_, values) in bound_curve(result).items():
        if bound_left_out(result):
            caption += f" Not drawn, because it is far above all curves here: {label}; it is {values[-1]:,.0f} in the last round."
        else:
            caption += " Dashed grey: what no uniformly good policy falls below in the long run; at early rounds policies may."
    near, far = near_and_far(result)
    curves = [(None, caption)] + ([(near, f"The same without {', '.join(far)}.")] if far else [])
    figures = [
        picture(
            regret_figure(
                result, log_rounds=log_rounds, references=references, policies=names, palette=palette, width=WIDTH, height=HEIGHT
            ),
            words,
        )
        for names, words in curves
    ]
    figures.append(picture(shares_figure(result, palette, width=WIDTH), shares_caption(result)))
    return Section(title, text, figures, [summary_table(result)], summary=summary_sentence(result))


def near_and_far(result: Result) -> tuple[list[str], list[str]]:
    """Policies whose curves can be told apart in one picture, and those so far above that they would press these flat."""
    ends = {name: float(curve[:, -1].mean()) for name, curve in result.regret.items()}
    lowest = sorted(ends.values())[:2]
    far = [name for name, end in ends.items() if end > FAR_RATIO * lowest[-1]]
    return [name for name in ends if name not in far], far


def summary_sentence(result: Result) -> str:
    """The result in a sentence."""
    return sentences.lowest(
        {name: curve[:, -1] for name, curve in result.regret.items()}, f"regret after {int(result.rounds[-1]):,} rounds"
    )


def summary_table(result: Result) -> Table:
    """Final regret ± standard error and the paired difference to the best policy."""
    return Table(*regret_summary(result))
