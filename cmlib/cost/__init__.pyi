from .change import predict_change
from .pooled import PooledCost, changes, default_cost_model, held_out
from .savings import savings_without_misses
from .slopes import rates, slope
