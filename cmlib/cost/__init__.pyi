from .change import predict_change, savings_without_misses
from .pooled import PooledCost, changes, default_cost_model, held_out
from .slopes import rates, slope
