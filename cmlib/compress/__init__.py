"""Piecewise-linear segments instead of samples (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "bounded": ["BoundedRegression"],
        "lines": ["compress", "fit_quality", "intervals", "line_ends", "reconstruct"],
        "online": ["OnlineRegression"],
    },
)
