"""What a miss costs in cycles, from a program's own intervals, tested by changes whose effect was measured."""

from cmlib.cost.change import Prediction, doubt, predict_change, rates_row
from cmlib.cost.pooled import PooledCost
from cmlib.cost.population import changes, held_out, learned
from cmlib.cost.rates import rates, slope
from cmlib.cost.without import without_misses

__all__ = [
    "PooledCost",
    "Prediction",
    "changes",
    "doubt",
    "held_out",
    "learned",
    "predict_change",
    "rates",
    "rates_row",
    "slope",
    "without_misses",
]
