"""Progress of runs as Rich shows it: bars where they can be drawn, a line now and then
elsewhere."""

import importlib.util
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

PLAIN_SECONDS = 10.0  # between lines where nothing can be drawn over


class _Words(ProgressColumn):
    """The share that is done, the speed and the time left; of a number that is only the largest
    possible no share and no time."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        return Text(words(task))


def words(task: Task) -> str:
    done, most, unit, seconds = (
        int(task.completed),
        task.fields["most"],
        task.fields["unit"],
        max(task.elapsed or 0.0, 1e-3),
    )
    if task.finished:
        return f"{done:,} {unit} in {seconds:.1f} s"
    if not task.fields["known"]:
        return (
            f"{done:,} {unit} of at most {most:,}, {done / seconds:,.0f} {unit}/s"
            if done
            else f"starting, {seconds:.0f} s"
        )
    if not done:
        return f"starting, {seconds:.0f} s"
    return (
        f"{done / most:.0%}, {done / seconds:,.0f} {unit}/s, {(most - done) * seconds / done:.0f} "
        "s left"
    )


class Bars(Progress):
    """Progress of several runs on standard error. every: seconds between lines where no bar can be
    drawn.

    Rich draws on terminals, and in notebooks where ipywidgets is installed.
    """

    def __init__(self, console: Console | None = None, seconds: float = PLAIN_SECONDS) -> None:
        console = Console(stderr=True, highlight=False) if console is None else console
        self.drawn = console.is_terminal or (
            console.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
        )
        self.every = seconds
        columns = TextColumn("{task.description}", markup=False), BarColumn(), _Words()
        super().__init__(*columns, console=console, transient=True, disable=not self.drawn)

    def run(self, label: str, known: bool = True, unit: str = "rounds") -> TaskID:
        return self.add_task(
            label, total=None, known=known, unit=unit, most=0, told=time.monotonic()
        )

    def advance_to(self, bar: TaskID, done: int, most: int) -> None:
        task = self.tasks[bar]
        self.update(bar, completed=done, total=most if task.fields["known"] else None, most=most)
        if not self.drawn and time.monotonic() - task.fields["told"] >= self.every:
            self.update(bar, told=time.monotonic())
            self.say(bar)

    def end(self, bar: TaskID) -> None:
        self.update(bar, total=self.tasks[bar].completed)
        self.tasks[bar].finished_time = self.tasks[bar].elapsed
        self.say(bar)

    def say(self, bar: TaskID) -> None:
        task = self.tasks[bar]
        self.console.print(
            f"{task.description}: {words(task)}", soft_wrap=True, markup=False, highlight=False
        )
