"""An editor on the first calls of a newcomer: hovering shows signature and summary, completion the
names that come next, all with types.

Pyright's language server answers, which is what Visual Studio Code's Python support and many other
editors speak to.
"""

import contextlib
import json
import pathlib
import subprocess
import sys

import pytest

import tightrope as tr

pytestmark = pytest.mark.lab("pyright")
SOURCE = pathlib.Path(tr.__file__).parent.parent
SCRIPT = """
import tightrope as tr
problem = tr.problems.Bernoulli([0.2, 0.5])
policy = tr.UCB(alpha=0.5)
result = tr.simulate(problem, [policy, tr.KLUCB()], horizon=1000, replications=10)
rows = result.summary()
result.plot("regret.svg")
session = tr.Session(tr.KLUCB(), arms=["red", "green"])
decision = session.decide(id="visitor 17")
session.reward("visitor 17", 1.0)
why = session.explain()
value = tr.evaluate(tr.logs.from_session(session), "red")
row = rows[0]
tr.problems.
result.
session.
decision.
value.
row.
tr.
tr.UCB(
""".strip()
HOVERED = {  # what is hovered: words of its signature, its first sentence
    "Bernoulli(": ("means: ArrayLike", "K independent arms with rewards 0 or 1."),
    "UCB(alpha": (
        "alpha: float = 2",
        "Optimism for independent arms: mean + sigma sqrt(alpha ln n / pulls).",
    ),
    "simulate(": ("horizon: int", "Play every policy against the same contexts and noise"),
    "summary(": (
        "-> list[SummaryRow]",
        "Final regret of every policy, lowest first, with paired differences",
    ),
    "plot(": ("path: str | Path | None = None", "Draw the mean regret curves with their bands"),
    "Session(": (
        "arms: ArrayLike | int | Sequence[str] | None = None",
        "One policy, its state, its random stream and its open decisions.",
    ),
    "decide(": (") -> Decision", "Decide which arm (or set of arms) to play."),
    "reward(": (") -> bool", "Close an open decision with its reward"),
    "explain(": (
        ") -> Explanation",
        "Why: per-arm mean, width, lower, upper, index and probability",
    ),
    "evaluate(": (
        ") -> Evaluation",
        "Estimate the value of a policy from a log that another policy made.",
    ),
}
TYPES = {
    "problem": "Bernoulli",
    "policy": "UCB",
    "result": "Result",
    "session": "Session",
    "decision": "Decision",
    "value": "Evaluation",
    "why": "Explanation",
    "rows": "list[SummaryRow]",
}
COMPLETED = {  # what has been typed: some of the names that are offered
    "tr.problems.": {"Bernoulli", "Gaussian", "Linear", "from_function"},
    "tr.UCB(": {"alpha=", "forget="},
    "result.": {"summary", "plot", "frame", "save", "compare", "regret"},
    "session.": {"decide", "reward", "explain", "save", "load", "open"},
    "decision.": {"id", "arm", "name", "propensity", "reason"},
    "value.": {"value", "se", "interval", "verdict", "plot"},
    "row.": {"policy", "mean", "se", "median", "worst"},
    "tr.": {"simulate", "identify", "Session", "evaluate", "UCB", "LinUCB", "problems", "logs"},
}


class Server:
    """Pyright's language server, spoken to by JSON-RPC on its standard streams."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.number = 0
        self.ask(
            "initialize",
            processId=None,
            rootUri=folder.as_uri(),
            capabilities={"textDocument": {"hover": {"contentFormat": ["plaintext"]}}},
        )
        self.tell("initialized")

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, **params):
        self.send(method=method, params=params)

    def ask(self, method, **params):
        """The answer to a request; what the server itself asks on the way is answered with
        nothing."""
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while True:
            length = 0
            while (line := self.process.stdout.readline().strip()) or not length:
                assert line, "the language server has ended"
                name, _, number = line.partition(b":")
                length = int(number) if name == b"Content-Length" else length
            heard = json.loads(self.process.stdout.read(length))
            if heard.get("id") == self.number and "method" not in heard:
                assert "error" not in heard, heard
                return heard["result"]
            if "method" in heard and "id" in heard:
                items = (
                    heard["params"].get("items", [])
                    if heard["method"] == "workspace/configuration"
                    else []
                )
                self.send(id=heard["id"], result=[None] * len(items) if items else None)

    def close(self):
        with contextlib.suppress(AssertionError, OSError):
            self.ask("shutdown")
            self.tell("exit")
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    """Asks about a place in the script: the beginning of a line or a word in it."""
    folder = tmp_path_factory.mktemp("editor")
    environment = pathlib.Path(sys.prefix)
    (folder / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "extraPaths": [str(SOURCE)],
                "venvPath": str(environment.parent),
                "venv": environment.name,
                "pythonVersion": "3.11",
            }
        )
    )
    file = folder / "script.py"
    file.write_text(SCRIPT)
    server = Server(folder)
    server.tell(
        "textDocument/didOpen",
        textDocument={"uri": file.as_uri(), "languageId": "python", "version": 1, "text": SCRIPT},
    )

    def ask(method, line, character):
        return server.ask(
            method,
            textDocument={"uri": file.as_uri()},
            position={"line": line, "character": character},
        )

    yield ask
    server.close()


def hovered(editor, word):
    """What stands in the box over the first place of a word."""
    before = SCRIPT.index(word)
    line = SCRIPT.count("\n", 0, before)
    shown = editor("textDocument/hover", line, before - SCRIPT.rfind("\n", 0, before) - 1)
    return shown["contents"]["value"]


def test_hovering_over_a_call_shows_its_signature_and_summary(editor):
    for word, words in HOVERED.items():
        text = hovered(editor, word)
        assert all(part in text for part in words), f"{word} shows:\n{text}"


def test_hovering_over_a_variable_shows_its_class(editor):
    for name, cls in TYPES.items():
        assert hovered(editor, f"{name} =").splitlines()[0] == f"(variable) {name}: {cls}", name


def test_completion_offers_what_comes_next(editor):
    lines = SCRIPT.splitlines()
    for typed, names in COMPLETED.items():
        offered = editor("textDocument/completion", lines.index(typed), len(typed))
        labels = {item["label"] for item in offered["items"]}
        assert names <= labels, (typed, names - labels)
        if typed == "tr.":
            rooms = {
                "results",
                "simulation",
                "solvers",
            }  # Pyright offers the rooms out of which the stub takes modules
            assert {label for label in labels if not label.startswith("_")} - {*dir(tr)} <= rooms
