"""Tables of several programs' families: how far they can be trusted, and whether the account agrees."""

import pandas as pd


def judge_families(families, core=None):
    """How stable the first families of each program are, and how far their model errs.

    Parameters
    ----------
    families : dict of str to Families
        By program.
    core : dict of str to Families, optional
        The same of the core events alone, of programs that have a second pass of them; gives the last columns.

    Returns
    -------
    DataFrame
        A row a program: its families, the ``distance`` up to which events were joined, the ``overlap`` of
        the first five between resampled models, ``random rankings``, and ``members alike`` where each
        resample groups for itself [0–1]; errors of cycles per instruction [%] on held-out blocks, of the
        ``families``, of ``single events`` and of the ``mean``, as of ``Families.errors``; and of core events, the
        overlap ``between passes`` and the errors on another pass.
    """
    rows = {}
    for program, one in families.items():
        own = _errors(one, "held-out blocks")
        rows[program] = one.stability.drop(columns="between passes").iloc[0].to_dict()
        rows[program] |= {f"error, {name}": error for name, error in own.items()}
        if program in (core or {}) and len(core[program].errors) > 1:
            other = _errors(core[program], "another pass")
            rows[program]["core events: between passes"] = core[program].stability["between passes"].iloc[0]
            rows[program] |= {f"another pass: {name}": error for name, error in other.items()}
    return pd.DataFrame(rows).T.rename_axis("program").astype({"families": int}).reset_index()


def compare_with_account(families):
    """Whether the first family of stalls or misses goes with the category that takes most of the varying cycles.

    Parameters
    ----------
    families : dict of str to Families

    Returns
    -------
    DataFrame
        A row a program that has both: ``family``, its ``cycles`` per 1,000 instructions, the ``goes with`` category and
        their correlation ``r``; the account's ``largest`` category by what it takes more in busy than in quiet
        steps, with its ``cycles of that``; and whether they ``agree``.
    """
    rows = []
    for program, one in families.items():
        losses = one.table[one.table["class"].isin(["stall", "miss"])]
        if losses.empty or one.categories.empty:
            continue
        first, largest = losses.iloc[0], one.categories.loc[one.categories["cycles"].idxmax()]
        rows.append(
            {
                "program": program,
                "family": first["name"],
                "cycles": first["cycles_per_kilo_instruction"],
                "goes with": first["category"],
                "r": first["category_r"],
                "largest": largest["category"],
                "cycles of that": largest["cycles"],
                "agree": bool(first["category"] == largest["category"]),
            }
        )
    return pd.DataFrame(rows)


def _errors(one, test):
    return one.errors.set_index("test").loc[test]
