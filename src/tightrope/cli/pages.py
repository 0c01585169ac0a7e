"""Pages of folders that commands wrote, made again; and pages that compare several of them."""

import json
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..papers.experiment import FigureOutcome
    from ..results.results import Identification, Result

COMPARISON_PAGE = pathlib.Path("runs/compared.html")
EVALUATION, COMPARISON = "evaluation.json", "comparison.json"
KNOWN_COMMANDS = "run, demo, reproduce and evaluate, and Result.save"


@dataclass
class RewrittenPage:
    """A page, and what is to be said of it: results, the rows of a paper, or lines."""

    path: pathlib.Path
    results: "dict[str, Result | Identification]" = field(default_factory=dict)
    paper: "tuple[str, dict[str, FigureOutcome]] | None" = None
    lines: list[str] = field(default_factory=list)


def page_again(folders: Sequence[pathlib.Path], title: str | None, out: pathlib.Path | None, say: Callable[[str], None]) -> RewrittenPage:
    """Write the page of one folder, whatever command filled it, or of several with results. Raises ValueError where one holds nothing."""
    if len(folders) > 1:
        return compared_pages(folders, title, out or COMPARISON_PAGE)
    (folder,) = folders
    return one_page(folder, title, out or folder / "report.html", out is not None, say)


def one_page(folder: pathlib.Path, title: str | None, path: pathlib.Path, elsewhere: bool, say: Callable[[str], None]) -> RewrittenPage:
    """The page of one folder."""
    from ..demo.page import RECORD as DEMO
    from ..demo.page import demo_again
    from ..papers.all_papers import RECORD, rewrite_reports
    from ..papers.experiment import ROWS, rewrite_report

    if (folder / RECORD).exists():
        return RewrittenPage(rewrite_reports(folder, title, path if elsewhere else None))
    if (folder / DEMO).exists():
        demo = demo_again(json.loads((folder / DEMO).read_text()), folder, title=title, path=path, say=say)
        return RewrittenPage(demo.page, lines=[f"{section.title}\n  {section.summary}" for section in demo.sections])
    if next(folder.glob(f"*/{ROWS}"), None) is not None:
        return RewrittenPage(path, paper=rewrite_report(folder, title, path))
    for name in (EVALUATION, COMPARISON):
        if (folder / name).exists():
            return judged_again(folder / name, title, path)
    return pages_of(results_in(folder), title or f"tightrope: {folder.name}", path)


def judged_again(file: pathlib.Path, title: str | None, path: pathlib.Path) -> RewrittenPage:
    """The page of `tightrope evaluate`."""
    from ..evaluation.results import Comparison, Evaluation
    from ..pages.evaluation import sentence, write_comparison, write_evaluation

    try:
        record = json.loads(file.read_text())
        if file.name == EVALUATION:
            one = Evaluation.from_record(record)
            return RewrittenPage(write_evaluation(one, path, record["made"], title or ""), lines=[sentence(one)])
        several = Comparison.from_record(record)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged or of another version ({type(error).__name__}: {error}); evaluate the log again.") from None
    return RewrittenPage(write_comparison(several, path, record["made"], title or ""), lines=[several.conclusion])


def results_in(folder: pathlib.Path) -> "dict[str, Result | Identification]":
    """The results of a folder by name: its own, or those of the folders in it."""
    from ..results.results import load

    if (folder / "result.json").exists():
        return {folder.name: load(folder)}
    inside = sorted(path.parent for path in folder.glob("*/result.json"))
    if not inside:
        begun = (
            " It has parts of a run that was interrupted: the same command goes on from there." if any(folder.rglob("plan.json")) else ""
        )
        raise ValueError(f"path = {str(folder)!r} holds no results; give a folder that one of {KNOWN_COMMANDS} wrote.{begun}")
    return {path.name: load(path) for path in inside}


def pages_of(results: "dict[str, Result | Identification]", title: str, path: pathlib.Path) -> RewrittenPage:
    """A page of results."""
    from ..pages.results import write_report

    return RewrittenPage(write_report(results, path, title=title), results)


def compared_pages(folders: Sequence[pathlib.Path], title: str | None, path: pathlib.Path) -> RewrittenPage:
    """One page of several folders: results of the same question together, then each by itself."""
    from ..pages.results import join_same_questions

    results: dict[str, Result | Identification] = {}
    for folder in folders:
        inside = results_in(folder)
        for name, result in inside.items():
            label = str(folder) if len(inside) == 1 else f"{folder}/{name}"
            results[label] = result
    if len(results) < len(folders):
        raise ValueError(f"DIR: {', '.join(map(str, folders))} names a folder twice; a folder is compared with others.")
    return pages_of(join_same_questions(results) | results, title or f"tightrope: {', '.join(folder.name for folder in folders)}", path)
