"""What a miss costs in cycles, from a program's own intervals, tested by changes whose effect was measured."""

from cmlib.cost.change import Prediction, predict_change, rates_row, reason_unreliable, savings_without_misses
from cmlib.cost.pooled import PooledCost, changes, default_cost_model, held_out
from cmlib.cost.slopes import rates, slope
