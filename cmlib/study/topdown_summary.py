"""Where the cycles of one program go, in three sentences: what limits it, how sure that is, what to try."""

from cmlib import topdown
from cmlib.study.topdown import BOUND, record_command

_SHOWN = 0.03  # share of the slots below which a part is not named


def say_account(found):
    """What limits a program, how sure that is, and what to try.

    Parameters
    ----------
    found : ProgramAccount
        From :func:`cmlib.study.topdown.account`.

    Returns
    -------
    str
        Markdown.
    """
    shares = found.account.shares.mean()
    level = found.account.level().mean()
    lost = level.drop(labels=["retired", "at work"], errors="ignore").sort_values(ascending=False)
    kept = level.drop(labels=lost.index)
    unit = "cycles" if found.account.table.name == "generic" else "slots"
    parts = "; ".join(_with_parts(found.account, name, shares) for name in lost.index if lost[name] >= _SHOWN)
    at_work = ", ".join(f"{_percent(share)} {name}" for name, share in kept.items())
    said = [f"Of all {unit}, {at_work}; lost: {parts}." if at_work else f"Lost of all {unit}: {parts}."]
    said += [_sure(found), _advice(found.account, lost, shares), _lacking(found)]
    return " ".join(filter(None, said))


def _with_parts(account, name, shares):
    below = [part.name for part in account.table.parts(name) if shares.get(part.name, 0) >= _SHOWN]
    inside = ", ".join(f"{part} {_percent(shares[part])}" for part in below)
    return f"**{name} {_percent(shares[name])}**" + (f" ({inside})" if inside else "")


def _sure(found):
    closure = found.closes
    if closure is None:
        return "How sure: one category is what the others leave, so that the sum proves nothing here."
    told = (
        f"How sure: the categories were counted by different events, in {found.n_runs} runs, and add up to "
        f"{100 * closure['mean']:.1f} % of the slots (root mean square over the steps {100 * closure['rms']:.1f} %)."
    )
    if abs(closure["mean"] - 1) <= BOUND:
        return told
    doubtful = topdown.doubtful_category(found.account)
    return f"{told} That is farther off than {100 * BOUND:.0f} %" + (
        f"; {doubtful} is likely counted wrongly." if doubtful else "."
    )


def _advice(account, lost, shares):
    """Of the largest loss, and of its largest part where that is known."""
    if lost.empty:
        return ""
    parts = [part for part in account.table.parts(lost.index[0]) if part.name in shares and part.advice]
    chosen = max(parts, key=lambda part: shares[part.name], default=None)
    by_name = {category.name: category for category in account.table.categories}
    category = chosen or by_name[lost.index[0]]
    return f"What to try ({category.name}): {category.advice[0].lower()}{category.advice[1:]}"


def _lacking(found):
    needed = dict.fromkeys(event for events in found.account.missing.values() for event in events)
    if not needed:
        return ""
    names = ", ".join(name for name, events in found.account.missing.items() if events)
    return f"Not counted: {names}. {record_command(found.program, needed)}."


def _percent(share):
    return f"{100 * share:.0f} %"
