"""The consequences of a change, in sentences for the page that asks for confirmation."""

from ...core.types import JsonObject
from ..domain.certificate import promised
from ..domain.history import History
from ..domain.requests import ArmChange, ModeChange
from ..domain.rollout import JUDGED, MODES, PLAYED
from .charts import short

SERVED = {
    "apprentice": "Production is served; the policy learns from it.",
    "shadow": "Production is served; the log notes what the policy would have played.",
    "capped": "A share of the decisions is the policy's, the others are production's.",
    "full": "The policy decides.",
}
REFUSED = "Requests for decisions are refused (409)"


def open_now(number: int, what: str = ": their arms and probabilities stay, and their rewards are learned as before.") -> str:
    if not number:
        return "No decision is open."
    return f"1 decision is open{what.replace('their', 'its')}" if number == 1 else f"{number:,} decisions are open{what}"


def of_mode(change: ModeChange, standing: JsonObject) -> list[str]:
    rollout, spec, after = standing["rollout"], standing["spec"], change.mode
    before, rule = rollout["mode"], rollout["rules"].get(after)
    share = f"{100 * (change.share or 0.0):.4g} % of the decisions are the policy's, the others are production's."
    said = [share if after == "capped" else SERVED[after], open_now(standing["open"]), guarantee_in(after, standing)]
    if after in JUDGED:
        said.append("The comparison of policy and baseline begins anew.")
    if rule:
        after_rewards = f" {rule['after']:,} rewards have come" if rule.get("after") else ""
        better = " the policy is surely better than the baseline" if rule.get("better") else ""
        said.append(f"A rule goes on to {MODES[MODES.index(after) + 1]} as soon as{' and'.join(filter(None, (after_rewards, better)))}.")
    if spec.get("sticky") and MODES.index(after) < MODES.index(before):
        said.append("Subjects lose their arms and are decided for anew.")
    return [*said, f"You can go back to {before} at any time. What is served until then cannot be taken back."]


def guarantee_in(mode: str, standing: JsonObject) -> str:
    holdings, least = standing["holdings"], standing["rollout"]["least_budget"]
    back = "shadow comes back by itself"
    if holdings is None and mode not in PLAYED:
        return "No promise is kept, and none is needed: only production is served."
    if holdings is None:
        limit = "" if mode == "full" else f" If the log shows that the policy is worse than the baseline, {back}."
        return f"No promise is kept (there is no alpha): nothing bounds what the policy's decisions may lose.{limit}"
    limit = f" If that falls below {least:g}, {back}." if mode in PLAYED and least is not None else ""
    return f"{promised(holdings, standing['spec'])} The budget is at least {short(holdings['budget_bound'])} now.{limit}"


def of_status(what: str, standing: JsonObject) -> list[str]:
    if what == "pause":
        return [f"{REFUSED} until the experiment is resumed, so callers need an answer of their own.", open_now(standing["open"])]
    if what == "resume":
        return [f"Decisions are made again. {SERVED[standing['rollout']['mode']]}", open_now(standing["open"])]
    return [
        f"This cannot be undone: an archived experiment is never resumed. {REFUSED}, and so are rewards.",
        open_now(standing["open"], ": the rewards are refused from then on."),
        "The log, this page and the certificate can be read for ever.",
    ]


def of_arm(arm: str, change: ArmChange, standing: JsonObject, history: History) -> list[str]:
    waiting = sum(arm in line.arms for line in history.open.values())
    left = sum(one["status"] == "active" and one["id"] != arm for one in standing["arms"])
    if change.status == "active":
        return [f"{arm} is played from the next decision on, with all that was learned of it."]
    return [
        f"{arm} is not played any more, from the next decision on; {left:,} other arm{'s are' if left != 1 else ' is'} played.",
        open_now(waiting, " that played it: rewards are still learned.") if waiting else "None of its decisions is open.",
        "It can be restored at any time, and nothing learned of it is lost.",
    ]
