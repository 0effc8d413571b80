from .calibration import changes as changes, coverage as coverage, held_out as held_out, learn as learn
from .change import predict_change as predict_change
from .pooled import PooledCost as PooledCost, default_cost_model as default_cost_model
from .savings import savings_without_misses as savings_without_misses
from .slopes import rates as rates, slope as slope
