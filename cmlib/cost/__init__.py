"""Estimate what a miss costs in cycles, by a program's own intervals and by changes whose effect was measured."""

from cmlib.cost.change import predict_change, reason_unreliable, savings_without_misses
from cmlib.cost.pooled import PooledCost, changes, default_cost_model, held_out
from cmlib.cost.slopes import rates, slope

__all__ = [
    "PooledCost",
    "changes",
    "default_cost_model",
    "held_out",
    "predict_change",
    "rates",
    "reason_unreliable",
    "savings_without_misses",
    "slope",
]
