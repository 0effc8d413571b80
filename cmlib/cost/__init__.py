"""What a miss costs in cycles, from a program's own intervals, tested by changes whose effect was measured."""

from cmlib.cost.change import Prediction, doubt, predict_change, rates_row, without_misses
from cmlib.cost.pooled import PooledCost, changes, held_out, learned
from cmlib.cost.rates import rates, slope
