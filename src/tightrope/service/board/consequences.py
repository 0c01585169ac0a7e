"""The consequences of a change, in sentences for the page that asks for confirmation."""

from ...core.types import JsonObject
from ..domain.certificate import promised
from ..domain.history import History
from ..domain.requests import ArmChange, ModeChange
from ..domain.rollout import JUDGED, MODES, PLAYED
from .charts import short

Standing = JsonObject
SERVED = {
    "apprentice": "Production is served; the policy learns from it.",
    "shadow": "Production is served; the log notes what the policy would have played.",
    "capped": "A share of the decisions is the policy's, the others are production's.",
    "full": "The policy decides.",
}


def decisions(number: int) -> str:
    """So many decisions, with the verb behind them."""
    return "1 decision is" if number == 1 else f"{number:,} decisions are"


def of_open(number: int) -> str:
    """The sentence about open decisions that stay open."""
    if not number:
        return "No decision is open."
    whose, what = ("its arm", "its reward is") if number == 1 else ("their arms", "their rewards are")
    return f"{decisions(number)} open: {whose} and probabilities stay, and {what} learned as before."


def of_mode(change: ModeChange, standing: Standing) -> list[str]:
    """The consequences of a change of the mode."""
    rollout, spec, after = standing["rollout"], standing["spec"], change.mode
    before = rollout["mode"]
    said = [SERVED[after] if after != "capped" else of_share(change), of_open(standing["open"])]
    if rollout["held"]:
        said.append("The rules of the rollout, which have waited since the policy was sent back, work again.")
    if after in JUDGED:
        clause = f": the {rollout['rewards_in_mode']:,} rewards of this mode so far count for it no longer" if before in JUDGED else ""
        said.append(f"The comparison of policy and baseline begins anew{clause}.")
    said += guarantee_in(after, standing)
    rule = rollout["rules"].get(after)
    if rule:
        after_rewards = f" {rule['after']:,} rewards have come" if rule.get("after") else ""
        better = " the policy is surely better than the baseline" if rule.get("better") else ""
        said.append(f"A rule goes on to {MODES[MODES.index(after) + 1]} as soon as{' and'.join(filter(None, (after_rewards, better)))}.")
    if spec.get("sticky") and MODES.index(after) < MODES.index(before):
        said.append("Subjects lose their arms and are decided for anew.")
    back = f"You can go back to {before} at any time" if before != after else "You can change it again at any time"
    return [*said, f"{back}. What is served until then cannot be taken back, and the log and the audit trail keep that it was you."]


def of_share(change: ModeChange) -> str:
    """Mode capped, with its share."""
    return f"{100 * (change.share or 0.0):.4g} % of the decisions are the policy's, the others are production's."


def guarantee_in(mode: str, standing: Standing) -> list[str]:
    """The guarantee for the baseline's reward in a mode."""
    holdings, least = standing["holdings"], standing["rollout"]["least_budget"]
    if holdings is None:
        if mode not in PLAYED:
            return ["No promise is kept, and none is needed here: only production is served."]
        limit = "" if mode == "full" else " If the log shows that the policy is worse than the baseline, shadow comes back by itself."
        return [f"No promise is kept (the experiment has no alpha): nothing bounds what the policy's decisions may lose.{limit}"]
    promise, bound = promised(holdings, standing["spec"]), short(holdings["budget_bound"])
    said = [f"The promise holds in every mode: {promise} The budget is at least {bound} now."]
    if mode in PLAYED and least is not None:
        said.append(f"If the lower bound of the budget falls below {least:g}, shadow comes back by itself.")
    if mode == "capped":
        said.append("If the log shows that the policy is worse than the baseline, shadow comes back by itself too.")
    return said


def of_status(what: str, standing: Standing) -> list[str]:
    """The consequences of pausing, resuming and archiving."""
    open = standing["open"]
    refused = "Requests for decisions are refused (409)"
    if what == "pause":
        later = "Rewards are still taken in and windows still close."
        return [f"{refused} until the experiment is resumed, so callers need an answer of their own.", of_open(open), later]
    if what == "resume":
        return [f"Decisions are made again, in mode {standing['rollout']['mode']}. {SERVED[standing['rollout']['mode']]}", of_open(open)]
    lost = "No decision is open, so no reward is lost." if not open else f"{decisions(open)} open: the rewards are refused from then on."
    return [
        f"This cannot be undone: an archived experiment is never resumed. {refused}, and so are rewards.", lost,
        "The log, this page and the certificate can be read for ever; the list shows the experiment only where it is asked for.",
    ]  # fmt: skip


def of_arm(arm: str, change: ArmChange, standing: Standing, history: History) -> list[str]:
    """The consequences of masking, retiring and restoring an arm."""
    waiting = sum(arm in line.arms for line in history.open.values())
    left = [one["id"] for one in standing["arms"] if one["status"] == "active" and one["id"] != arm]
    if change.status == "active":
        return [f"{arm} is played again from the next decision on, beside {len(left):,} other arms, with all that was learned of it."]
    how = "for now" if change.status == "masked" else "any more"
    open_sentence = (
        "None of its decisions is open." if not waiting else f"{decisions(waiting)} open that played it: rewards are still learned."
    )
    remaining = "1 other arm is played" if len(left) == 1 else f"{len(left):,} other arms are played"
    return [
        f"{arm} is not played {how}, from the next decision on; {remaining}. Requests that name only it are refused.", open_sentence,
        "It can be restored at any time, and nothing learned of it is lost. It stays in tables and in the log.",
    ]  # fmt: skip
