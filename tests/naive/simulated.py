"""Rates of simulated slices, in plain loops."""


def rates(rows, intervals, floors):
    """Events per 1,000 instructions of each whole slice; a row is a dict of counts, a floor is of a modelled rate."""
    found = []
    for first in range(0, len(rows) - intervals + 1, intervals):
        total = {}
        for row in rows[first : first + intervals]:
            for event, count in row.items():
                total[event] = total.get(event, 0.0) + count

        def missed(level, total=total):
            return total[f"sim.{level}_load_misses"] + total[f"sim.{level}_store_misses"]

        happened = {
            "sim.fills_from_memory": missed("ll"),
            "sim.fills_from_l3": missed("l2") - missed("ll"),
            "sim.fills_from_l2": missed("l1d") - missed("l2"),
            "sim.mispredictions": total["sim.conditional_mispredictions"]
            + total["sim.indirect_mispredictions"],
            "sim.l1i_misses": total["sim.l1i_misses"],
        }
        slice_ = {
            name: max(1000 * n / total["sim.instructions"], floors[name]) for name, n in happened.items()
        }
        for event in ("sim.loads", "sim.stores", "sim.conditional_branches", "sim.indirect_branches"):
            slice_[event] = 1000 * total[event] / total["sim.instructions"]
        found.append(slice_)
    return found
