"""The Iris model of 2022: a trial class in Keras, one hidden layer over four measurements.

Its data is in a shared folder, as two files in the form that TensorFlow's documentation hands
out: a first line "records,features,species 0,species 1,species 2", then a flower per line, its
four measurements and the number of its species.
"""

import pathlib
from typing import List, Tuple

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.losses import categorical_crossentropy
from tensorflow.keras.metrics import categorical_accuracy
from tensorflow.keras.models import Model
from tensorflow.keras.optimizers.legacy import RMSprop
from tensorflow.keras.utils import to_categorical

from determined import keras

NUM_CLASSES = 3


def load_data(path: pathlib.Path) -> Tuple[np.ndarray, np.ndarray]:
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :4], to_categorical(table[:, 4], num_classes=NUM_CLASSES)


class IrisTrial(keras.TFKerasTrial):
    def __init__(self, context: keras.TFKerasTrialContext) -> None:
        self.context = context
        mounts = context.get_experiment_config()["bind_mounts"]
        self.data = pathlib.Path(mounts[0]["container_path"])

    def build_model(self) -> Model:
        inputs = Input(shape=(4,))
        hidden = Dense(self.context.get_hparam("layer1_dense_size"))(inputs)
        outputs = Dense(NUM_CLASSES, activation="softmax")(hidden)
        model = self.context.wrap_model(Model(inputs=inputs, outputs=outputs))
        optimizer = RMSprop(
            lr=self.context.get_hparam("learning_rate"),
            decay=self.context.get_hparam("learning_rate_decay"),
        )
        optimizer = self.context.wrap_optimizer(optimizer)
        model.compile(optimizer, categorical_crossentropy, [categorical_accuracy])
        return model

    def keras_callbacks(self) -> List[tf.keras.callbacks.Callback]:
        return [
            keras.callbacks.TensorBoard(update_freq="batch", profile_batch=0, histogram_freq=100)
        ]

    def build_training_data_loader(self) -> keras.InputData:
        return load_data(self.data / "iris_training.csv")

    def build_validation_data_loader(self) -> keras.InputData:
        return load_data(self.data / "iris_test.csv")
