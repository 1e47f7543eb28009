"""A program of XGBoost with MLflow's autologging. It knows nothing of the platform."""

import os

import mlflow
import numpy as np
import xgboost

mlflow.xgboost.autolog(log_models=False, log_datasets=False, importance_types=[], silent=True)
rng = np.random.default_rng(1)
x = rng.normal(size=(20000, 30))
y = np.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2] + rng.normal(scale=0.1, size=20000)
train, held = xgboost.DMatrix(x[:15000], y[:15000]), xgboost.DMatrix(x[15000:], y[15000:])
settings = {"eta": float(os.environ["DET_HPARAM_eta"]), "max_depth": 6, "nthread": 1}
xgboost.train(settings, train, num_boost_round=65, evals=[(held, "held")], verbose_eval=False)
