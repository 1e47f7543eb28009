"""A classifier of clothes: a trial class in Keras, one dense layer over all pixels."""

import clothes
import tensorflow as tf
from tensorflow import keras

from determined.keras import InputData, TFKerasTrial, TFKerasTrialContext


class FashionMNISTTrial(TFKerasTrial):
    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    def build_model(self) -> keras.models.Model:
        model = keras.Sequential(
            [
                keras.layers.Flatten(input_shape=(clothes.SIZE, clothes.SIZE)),
                keras.layers.Dense(self.context.get_hparam("dense1")),
                keras.layers.Dense(len(clothes.KINDS)),
            ]
        )
        model = self.context.wrap_model(model)
        optimizer = self.context.wrap_optimizer(tf.keras.optimizers.legacy.Adam())
        model.compile(
            optimizer=optimizer,
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model

    def build_training_data_loader(self) -> InputData:
        pictures, kinds = clothes.draw(600, seed=1)
        size = self.context.get_per_slot_batch_size()
        print(f"each worker trains with {size} pictures in a batch")
        return pictures, kinds

    def build_validation_data_loader(self) -> InputData:
        return clothes.draw(200, seed=2)
