"""The section of an identification in a report: rounds of every run, and how often the right arm was named and certified."""

from ..plots import sentences, style
from ..plots.pictures import picture
from ..plots.rounds import rounds_figure
from ..plots.shares import shares_caption, shares_figure
from ..results.results import Identification
from ..results.summary import rounds_summary
from .page import Section, Table
from .simulation import WIDTH


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
    return Section(title, text, figures, [summary_table(result)], summary=summary_sentence(result))


def summary_sentence(result: Identification) -> str:
    """The result in sentences: who needs fewest rounds, and who named right arms with their certificate."""
    n = result.replications
    answers = [
        f"{name} named a right arm in {int(result.correct[name].sum())} and certified it in {int(result.stopped[name].sum())}"
        for name in result.policies
    ]
    return (
        f"{sentences.lowest(result.rounds, 'mean number of rounds')} Of {n} run{'s' if n != 1 else ''}, {sentences.listed_words(answers)}."
    )


def summary_table(result: Identification) -> Table:
    """Rounds ± standard error, the paired difference to the fewest, and shares of runs that were right and certified."""
    return Table(*rounds_summary(result))
