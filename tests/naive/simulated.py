"""Rates of simulated slices, in plain loops."""


def cycles(total):
    """KCachegrind's estimate: Ir + 10 L1m + 100 LLm + 10 Bm."""
    first = total["sim.l1i_misses"] + total["sim.l1d_load_misses"] + total["sim.l1d_store_misses"]
    last = total["sim.ll_instruction_misses"] + total["sim.ll_load_misses"] + total["sim.ll_store_misses"]
    mispredicted = total["sim.conditional_mispredictions"] + total["sim.indirect_mispredictions"]
    return total["sim.instructions"] + 10 * first + 100 * last + 10 * mispredicted


def rates(rows, intervals):
    """Events per 1,000 estimated cycles of each whole slice; a row is a dict of counts."""
    found = []
    for first in range(0, len(rows) - intervals + 1, intervals):
        total = {}
        for row in rows[first : first + intervals]:
            for event, count in row.items():
                total[event] = total.get(event, 0.0) + count

        def missed(level, total=total):
            return total[f"sim.{level}_load_misses"] + total[f"sim.{level}_store_misses"]

        happened = {
            "sim.ll_misses": missed("ll"),
            "sim.l2_misses": missed("l2"),
            "sim.l1d_misses": missed("l1d"),
            "sim.mispredictions": total["sim.conditional_mispredictions"]
            + total["sim.indirect_mispredictions"],
            "sim.l1i_misses": total["sim.l1i_misses"],
        }
        for event in ("sim.loads", "sim.stores", "sim.conditional_branches", "sim.indirect_branches"):
            happened[event] = total[event]
        found.append({name: 1000 * n / cycles(total) for name, n in happened.items()})
    return found
