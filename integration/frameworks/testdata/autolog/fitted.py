"""A program of scikit-learn with MLflow's autologging. It knows nothing of the platform."""

import os

import mlflow
import numpy as np
from sklearn.linear_model import Ridge

mlflow.sklearn.autolog(log_models=False, silent=True)
rng = np.random.default_rng(1)
x = rng.normal(size=(200, 4))
y = x @ np.array([1.0, 2.0, 3.0, 4.0]) + rng.normal(scale=0.1, size=200)
Ridge(alpha=float(os.environ["DET_HPARAM_alpha"])).fit(x, y)
