from .calibration import changes, coverage, held_out, learn
from .change import predict_change
from .pooled import PooledCost, default_cost_model
from .savings import savings_without_misses
from .slopes import rates, slope
