"""The sections of a simulation and of an identification in a report: pictures, pull shares, paired differences, sentences."""

from ..plots import sentences, style
from ..plots.curves import References, bound_curve, bound_left_out, regret_figure
from ..plots.pictures import picture
from ..plots.rounds import rounds_figure
from ..plots.shares import shares_caption, shares_figure
from ..results.results import Identification, Result
from ..results.summary import regret_summary, rounds_summary
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
    return sentences.lowest(
        {name: curve[:, -1] for name, curve in result.regret.items()}, f"regret after {int(result.rounds[-1]):,} rounds"
    )


def summary_table(result: Result) -> Table:
    """Final regret ± standard error and the paired difference to the best policy."""
    return Table(*regret_summary(result))


def identification_section(
    title: str, result: Identification, *, text: str = "", palette: style.Palette | None = None
) -> Section:  # fmt: skip
    """Summary, rounds, pull shares and the table of one result. palette: colours by name; default: of this section alone."""
    palette = style.Palette(result.policies) if palette is None else palette
    caption = "Rounds of every run, mean ± 2 standard errors; crosses: a wrong arm or none certified."
    figures = [
        picture(rounds_figure(result, palette=palette, width=WIDTH), caption),
        picture(shares_figure(result, palette, width=WIDTH), shares_caption(result)),
    ]
    return Section(title, text, figures, [identification_table(result)], summary=identification_sentence(result))


def identification_sentence(result: Identification) -> str:
    """The result in sentences: who needs fewest rounds, and who named right arms with their certificate."""
    n = result.replications
    answers = [
        f"{name} named a right arm in {int(result.correct[name].sum())} and certified it in {int(result.stopped[name].sum())}"
        for name in result.policies
    ]
    return (
        f"{sentences.lowest(result.rounds, 'mean number of rounds')} Of {n} run{'s' if n != 1 else ''}, {sentences.listed_words(answers)}."
    )


def identification_table(result: Identification) -> Table:
    """Rounds ± standard error, the paired difference to the fewest, and shares of runs that were right and certified."""
    return Table(*rounds_summary(result))
