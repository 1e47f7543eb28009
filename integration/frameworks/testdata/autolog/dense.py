"""A program of Keras with MLflow's autologging. It knows nothing of the platform."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import mlflow
import numpy as np

mlflow.keras.autolog(log_models=False, log_datasets=False, silent=True)
rng = np.random.default_rng(1)
x = rng.normal(size=(512, 8)).astype("float32")
y = (x[:, :1] + x[:, 1:2] > 0).astype("float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(float(os.environ["DET_HPARAM_rate"])), loss="binary_crossentropy")
model.fit(x, y, batch_size=32, epochs=9, validation_split=0.25, verbose=0)
