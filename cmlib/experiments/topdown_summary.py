"""Where the cycles of one program go, in words: what limits it, how sure that is, what to try."""

from cmlib import topdown
from cmlib.experiments.topdown import AT_WORK, BOUND, describe_recording, record_command
from cmlib.fingerprint.diagnosis import advice as remedy
from cmlib.topdown.tables import names_in

_SHOWN = 0.03  # share of the slots below which a part is not named
_LITTLE = 0.75  # share of the slots from which on, where so many retired, little is lost

# Categories that are a class of `cmlib diagnose`, whose advice says more than the table's.
_CLASSES = {"L2 hits": "P_Mem_L2", "L3 hits": "P_Mem_L3", "memory and other caches": "P_Mem_M"}


def describe_account(program_account):
    """What limits a program, how sure that is, what to try, and what is lacking."""
    shares = program_account.account.shares.mean()
    level = program_account.account.level().mean()
    lost = level.drop(labels=list(AT_WORK), errors="ignore").sort_values(ascending=False)
    return {
        "limits": _limits(program_account.account, level.drop(labels=lost.index), lost, shares),
        "sure": _sure(program_account),
        "advice": _advice(program_account.account, lost, shares),
        "lacking": _lacking(program_account),
    }


def describe_unaccounted(url, program):
    """What would tell where the cycles of a program go that counted no event of the account."""
    return f"where its cycles go. {describe_recording(url, program)}"


def _limits(account, working, lost, shares):
    unit = "cycles" if account.table.name == "generic" else "slots"
    losses = [
        (f"{_percent(lost[name])} are lost to {_the(name)}", _parts(account, name, shares))
        for name in lost.index
        if lost[name] >= _SHOWN
    ]
    at_work = [f"{_percent(share)} {_done(name)}" for name, share in working.items()]
    if not losses:
        return f"**Hardly any {unit} are lost**" + "".join(f": {text}" for text in at_work)
    if working.sum() >= _LITTLE:
        return f"**Little is lost: of all {unit}, {at_work[0]}**; " + _list(losses)
    (first, inside), *others = losses
    sentence = _list([(f"**Of all {unit}, {first}**", inside), *others])
    return "; ".join([sentence, *at_work])


def _list(losses):
    """The verb once: "9 % are lost to a, 8 % to b"."""
    first, *others = (text + inside for text, inside in losses)
    return ", ".join([first, *(text.replace(" are lost", "", 1) for text in others)])


def _the(name):
    return name if name == "bad speculation" else f"the {name}"


def _done(name):
    return name if name == "retired" else f"are {name}"


def _parts(account, name, shares):
    shown = [part.name for part in account.table.parts(name) if shares.get(part.name, 0) >= _SHOWN]
    inside = ", ".join(f"{part} {_percent(shares[part])}" for part in shown)
    return f" ({inside})" if inside else ""


def _sure(program_account):
    account, closes = program_account.account, program_account.closes
    uncounted = ", ".join(part.name for part in account.table.parts() if part.name in account.missing)
    if uncounted:
        return f"{uncounted} was not counted, so that it is not known whether the account adds up"
    if closes is None:
        return "one category is what the others leave, so that the account adds up whatever was counted"
    shows = topdown.tested_events(account)
    counted = " + ".join(f"`{event}`" for event in shows if shows[event])
    closure = (
        f"counted in {program_account.n_runs} runs, {counted} add up to {100 * closes['mean']:.1f} % of the slots "
        f"(root mean square distance of the steps {100 * closes['rms']:.1f} %){_untested(account, shows)}"
    )
    if _within(closes):
        return closure
    doubtful = topdown.doubtful_category(account)
    wrong = f", and {doubtful} is likely counted wrongly" if doubtful else ""
    return f"{closure}: **it does not add up** within {100 * BOUND:.0f} %{wrong}"


def _untested(account, shows):
    """What the sum says nothing of."""
    cancelled = ", ".join(f"`{event}`" for event in shows if not shows[event])
    of_none = [name for name in account.level() if not shows.keys() & set(names_in(account.formulas[name]))]
    cancels = f"; {cancelled} cancels, so that an error in it would not show" if cancelled else ""
    return cancels + (f"; {', '.join(of_none)} was not counted and is taken as none" if of_none else "")


def _within(closes):
    return abs(closes["mean"] - 1) <= BOUND


def _advice(account, lost, shares):
    """Of the largest loss, and of its largest part as far down as parts are known and have an advice; and the most that
    it can bring, which is what is lost there."""
    if lost.empty or lost.sum() <= 1 - _LITTLE:
        return _of(account, "retired")
    chosen = lost.index[0]
    while parts := [part.name for part in account.table.parts(chosen) if part.advice and part.name in shares]:
        chosen = max(parts, key=shares.get)
    advised = _of(account, chosen)
    return f"{advised} (brings at most {_percent(shares[chosen])} fewer cycles)" if advised else ""


def _of(account, name):
    advice = next((one.advice for one in account.table.categories if one.name == name), "")
    if name in _CLASSES:
        advice = remedy(_CLASSES[name])[1]
    return f"{name}: {advice[0].lower()}{advice[1:].rstrip('.')}" if advice else ""


def _lacking(program_account):
    missing, closes = program_account.account.missing, program_account.closes
    names = [name for name, events in missing.items() if events]
    if names:
        needed = dict.fromkeys(event for name in names for event in missing[name])
        return f"{', '.join(names)}. {_command(program_account, needed)}"
    if closes is None or _within(closes):
        return ""
    formulas = " + ".join(
        program_account.account.formulas[part.name] for part in program_account.account.table.parts()
    )
    needed = [name for name in dict.fromkeys(names_in(formulas)) if name not in ("slots", "cycles")]
    return f"an account that adds up. {_command(program_account, needed)}"


def _command(program_account, needed):
    meta = {"program": program_account.program} | program_account.meta
    return record_command(meta, list(needed), program_account.account.table.name)


def _percent(share):
    return f"{100 * share:.0f} %"
