"""Keras trial classes and callbacks, with whichever Keras TensorFlow uses.

They run where TensorFlow is installed; TF_USE_LEGACY_KERAS=1 and =0 choose between Keras 2 and 3.
"""

import json
import logging
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
from typing import Any, ClassVar, Dict, Iterator, List, Optional, Type

import pytest

tf = pytest.importorskip("tensorflow")
np = pytest.importorskip("numpy")

import determined as det  # noqa: E402
from determined import core, keras  # noqa: E402
from determined._env import EnvContext  # noqa: E402
from determined._trial import train_class  # noqa: E402
from determined.errors import (  # noqa: E402
    InvalidDataTypeException,
    InvalidExperimentException,
    InvalidModelException,
)
from determined.keras import _backend, _state  # noqa: E402
from tests.conftest import CONFIG, MakeTask  # noqa: E402
from tests.stub_master import DEADLINE, Stub  # noqa: E402

HPARAMS = {"global_batch_size": 8, "units": 3, "lr": 0.01}

X = np.random.RandomState(1).rand(40, 4).astype("float32")
Y = (X.sum(axis=1, keepdims=True) > 2).astype("float32")


def config(**changes: Any) -> Dict[str, Any]:
    return {
        **CONFIG,
        "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 12}},
        "scheduling_unit": 5,
        "min_validation_period": {"batches": 6},
        "hyperparameters": HPARAMS,
        "entrypoint": "model_def:Small",
        **changes,
    }


class Small(keras.TFKerasTrial):
    """A small model over arrays."""

    def __init__(self, context: keras.TFKerasTrialContext) -> None:
        super().__init__(context)
        self.callbacks: List[Any] = []

    def build_model(self) -> Any:
        inputs = tf.keras.layers.Input(shape=(4,))
        hidden = tf.keras.layers.Dense(self.context.get_hparam("units"), activation="relu")(inputs)
        outputs = tf.keras.layers.Dense(1, activation="sigmoid")(hidden)
        model = self.context.wrap_model(tf.keras.models.Model(inputs=inputs, outputs=outputs))
        optimizer = tf.keras.optimizers.Adam(self.context.get_hparam("lr"))
        optimizer = self.context.wrap_optimizer(optimizer)
        model.compile(optimizer=optimizer, loss="binary_crossentropy", metrics=["accuracy"])
        return model

    def build_training_data_loader(self) -> Any:
        return X, Y

    def build_validation_data_loader(self) -> Any:
        return X[:20], Y[:20]

    def keras_callbacks(self) -> List[Any]:
        return self.callbacks


def train(
    make_task: MakeTask,
    trial_class: Type[keras.TFKerasTrial] = Small,
    hparams: Optional[Dict[str, Any]] = None,
    checkpoint: Optional[str] = None,
    **changes: Any,
) -> pathlib.Path:
    """Train a trial to its end, and return the folder of its checkpoints."""
    task = {name: changes.pop(name) for name in list(changes) if name.startswith("DET_")}
    shared = make_task(
        config(**changes),
        DET_HPARAMS=json.dumps(hparams or HPARAMS),
        DET_LATEST_CHECKPOINT=checkpoint,
        **task,
    )
    info = det.get_cluster_info()
    assert info is not None
    with core.init() as core_context:
        train_class(trial_class, core_context, EnvContext.from_info(info))
    return shared / "team"


def newest(stub: Stub) -> str:
    return list(stub.checkpoints)[-1]


def weights(folder: pathlib.Path) -> List[Any]:
    """The weights of a checkpoint, and Adam's state from its optimizer's file."""
    trial = Small(keras.TFKerasTrialContext(core._dummy_init(), EnvContext({}, HPARAMS)))
    model = trial.build_model()
    _state.load_weights(model, folder, "it")
    with np.load(folder / _state.OPTIMIZERS) as arrays:
        return [*model.get_weights(), *[arrays[name] for name in sorted(arrays.files)]]


def test_training_follows_the_configuration(stub: Stub, make_task: MakeTask) -> None:
    folder = train(make_task)
    # Pieces end at the scheduling unit, at validations, and at the end.
    assert stub.steps("training") == [5, 6, 11, 12]
    assert stub.steps("validation") == [6, 12]
    last = stub.values("training", 12)
    assert set(last) == {"loss", "accuracy", "batches", "epochs"}
    assert last["batches"] == 12 and last["epochs"] == 2
    assert set(stub.values("validation", 12)) == {"val_loss", "val_accuracy", "batches", "epochs"}
    steps = [c["metadata"]["steps_completed"] for c in stub.checkpoints.values()]
    assert steps[-1] == 12
    found = stub.checkpoints[newest(stub)]
    assert found["metadata"]["framework"] == f"tensorflow-{tf.__version__}"
    for name in ("load_data.json", "rng_state.pkl", "determined-callbacks.v1.pkl", "code/"):
        assert name in found["resources"]
    assert (folder / newest(stub) / "metadata.json").exists()
    progress = [r.json["progress"] for r in stub.sent("POST", "/progress")]
    assert progress[-1] == 1.0 and progress == sorted(progress)
    assert not stub.sent("POST", "ack_preemption")


def test_metrics_are_averages_of_the_piece(stub: Stub, make_task: MakeTask) -> None:
    """A model that does not learn has the same loss on each pass through the data."""
    still = {**HPARAMS, "lr": 0.0}
    length = {"name": "single", "metric": "val_loss", "max_length": {"batches": 10}}
    train(make_task, hparams=still, searcher=length, min_validation_period={"batches": 10})
    first, second = stub.values("training", 5), stub.values("training", 10)
    assert first["loss"] == pytest.approx(second["loss"], abs=1e-6)
    assert first["accuracy"] == second["accuracy"]


@pytest.mark.parametrize(
    ("policy", "expected"), [("none", [12]), ("all", [6, 12]), ("best", [6, 12])]
)
def test_checkpoint_policy(
    stub: Stub, make_task: MakeTask, policy: str, expected: List[int]
) -> None:
    stub.change(best=1e9)
    train(make_task, checkpoint_policy=policy)
    assert [c["metadata"]["steps_completed"] for c in stub.checkpoints.values()] == expected


def test_the_best_is_of_the_experiment(stub: Stub, make_task: MakeTask) -> None:
    stub.change(best=-1.0)
    train(make_task)
    assert [c["metadata"]["steps_completed"] for c in stub.checkpoints.values()] == [12]


def test_periods_in_other_units(stub: Stub, make_task: MakeTask) -> None:
    train(
        make_task,
        searcher={"name": "single", "metric": "val_loss", "max_length": {"epochs": 3}},
        min_validation_period={"records": 48},
        min_checkpoint_period={"epochs": 1},
        records_per_epoch=40,
        checkpoint_policy="none",
        perform_initial_validation=True,
    )
    assert stub.steps("validation") == [0, 6, 12, 15]
    assert [c["metadata"]["steps_completed"] for c in stub.checkpoints.values()] == [5, 10, 15]


def test_resuming_is_exact(stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path) -> None:
    """Twelve batches without a stop, and twelve of which some follow a preemption."""
    whole = weights(train(make_task) / newest(stub))

    class Interrupted(Small):
        def keras_callbacks(self) -> List[Any]:
            def preempt(batch: int, logs: Any) -> None:
                if batch == 6:
                    stub.change(preempt=True)

            return [tf.keras.callbacks.LambdaCallback(on_train_batch_end=preempt)]

    folder = train(make_task, Interrupted)
    stub.wait_for(lambda: stub.sent("POST", "ack_preemption"))
    stopped = newest(stub)
    steps = stub.checkpoints[stopped]["metadata"]["steps_completed"]
    assert 7 <= steps < 12
    stub.change(preempt=False)
    # The result must not depend on random numbers that this process has drawn.
    random.seed(99)
    train(make_task, Interrupted, checkpoint=stopped, DET_TRIAL_RUN_ID="2")
    assert stub.checkpoints[newest(stub)]["metadata"]["steps_completed"] == 12
    for one, other in zip(whole, weights(folder / newest(stub))):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_done_is_done(stub: Stub, make_task: MakeTask) -> None:
    """A trial that is started again after its end trains nothing."""
    train(make_task)
    reports, checkpoints = len(stub.order), len(stub.checkpoints)
    train(make_task, checkpoint=newest(stub))
    assert (len(stub.order), len(stub.checkpoints)) == (reports, checkpoints)


def test_warm_start(stub: Stub, make_task: MakeTask) -> None:
    """The weights are those of another trial's checkpoint, and steps count from zero."""
    train(make_task)
    source = newest(stub)
    loss = stub.values("validation", 12)["val_loss"]
    stub.metrics.clear()
    stub.order.clear()
    train(
        make_task,
        hparams={**HPARAMS, "lr": 0.0},
        checkpoint=source,
        DET_TRIAL_ID="13",
        perform_initial_validation=True,
    )
    assert stub.steps("training")[0] == 5
    assert stub.values("validation", 0)["val_loss"] == pytest.approx(loss, abs=1e-6)


class Counting(keras.callbacks.Callback):
    """Records the calls of its methods."""

    seen: ClassVar[List[Any]] = []

    def __init__(self) -> None:
        super().__init__()
        self.validations = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        Counting.seen.append(("epoch", epoch))

    def on_train_workload_end(self, total_batches_trained: int, logs: Any) -> None:
        Counting.seen.append(("piece", total_batches_trained, "loss" in logs))

    def on_test_end(self, logs: Any = None) -> None:
        self.validations += 1

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        pathlib.Path(checkpoint_dir, "mine.txt").write_text("x")

    def get_state(self) -> Any:
        return {"validations": self.validations}

    def load_state(self, state: Any) -> None:
        self.validations = state["validations"]
        Counting.seen.append(("restored", self.validations))


class WithCounting(Small):
    def keras_callbacks(self) -> List[Any]:
        return [Counting()]


def test_callbacks(stub: Stub, make_task: MakeTask) -> None:
    Counting.seen.clear()
    folder = train(make_task, WithCounting, records_per_epoch=40, checkpoint_policy="none")
    assert Counting.seen == [
        ("epoch", 0),
        ("piece", 5, True),
        ("piece", 6, True),
        ("epoch", 1),
        ("piece", 11, True),
        ("piece", 12, True),
    ]
    assert (folder / newest(stub) / "mine.txt").exists()
    assert "mine.txt" in stub.checkpoints[newest(stub)]["resources"]
    longer = {"name": "single", "metric": "val_loss", "max_length": {"batches": 13}}
    train(make_task, WithCounting, checkpoint=newest(stub), searcher=longer)
    assert ("restored", 2) in Counting.seen


def test_early_stopping(stub: Stub, make_task: MakeTask) -> None:
    class Stopping(Small):
        def keras_callbacks(self) -> List[Any]:
            return [
                keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, min_delta=1e3),
                keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=5),
            ]

    long = {"name": "single", "metric": "val_loss", "max_length": {"batches": 1000}}
    train(make_task, Stopping, searcher=long)
    assert stub.steps("validation") == [6, 12]
    assert stub.checkpoints[newest(stub)]["metadata"]["steps_completed"] == 12
    assert not stub.sent("POST", "ack_preemption")


Sequence: Any = tf.keras.utils.Sequence


class Batches(Sequence):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.passes = 0

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        return X[index * 8 : index * 8 + 8], Y[index * 8 : index * 8 + 8]

    def on_epoch_end(self) -> None:
        self.passes += 1


def test_forms_of_data(stub: Stub, make_task: MakeTask) -> None:
    """The same records in the same order train the same model, whatever form they have."""

    class Arrays(Small):
        def __init__(self, context: keras.TFKerasTrialContext) -> None:
            super().__init__(context)
            context.configure_fit(shuffle=False, verbose=False)

    class Sequences(Arrays):
        def build_training_data_loader(self) -> Any:
            self.context.configure_fit(workers=3, max_queue_size=2)
            return Batches()

        def build_validation_data_loader(self) -> Any:
            return Batches()

    class Adapted(Arrays):
        def build_training_data_loader(self) -> Any:
            return keras.SequenceAdapter(Batches(), workers=0)

    class Datasets(Arrays):
        def build_training_data_loader(self) -> Any:
            return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(8))

        def build_validation_data_loader(self) -> Any:
            return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(8))

    class Weighted(Arrays):
        def build_training_data_loader(self) -> Any:
            return X, Y, np.ones(len(X))

    losses = set()
    for trial_class in (Arrays, Sequences, Adapted, Datasets, Weighted):
        stub.metrics.clear()
        stub.order.clear()
        train(make_task, trial_class)
        losses.add(round(stub.values("training", 12)["loss"], 5))
    assert len(losses) == 1


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ((X, Y[:3]), ValueError, "x has 40 records, but y has 3"),
        ((X[:3], Y[:3]), ValueError, "less than a batch"),
        (([1, 2], Y), InvalidDataTypeException, "a data loader returns"),
        ("words", InvalidDataTypeException, "a data loader returns"),
        ((X,), InvalidDataTypeException, "a data loader returns"),
    ],
)
def test_data_that_cannot_be_used(
    stub: Stub, make_task: MakeTask, data: Any, error: type, message: str
) -> None:
    class Wrong(Small):
        def build_training_data_loader(self) -> Any:
            return data

    with pytest.raises(error, match=message):
        train(make_task, Wrong)


def test_what_is_wrong_with_a_trial(stub: Stub, make_task: MakeTask) -> None:
    with pytest.raises(ValueError, match="needs the hyperparameter global_batch_size"):
        train(make_task, hparams={"units": 1, "lr": 1})
    with pytest.raises(ValueError, match="no hyperparameter 'units'; .* global_batch_size, lr"):
        train(make_task, hparams={"global_batch_size": 8, "lr": 1})
    other = {"name": "single", "metric": "accuracy", "max_length": {"batches": 12}}
    with pytest.raises(InvalidExperimentException, match="but validation has val_accuracy"):
        train(make_task, searcher=other)
    with pytest.raises(ValueError, match=r"no searcher\.max_length"):
        train(make_task, searcher={"name": "single", "metric": "val_loss"})
    with pytest.raises(ValueError, match="must count one unit"):
        train(make_task, min_validation_period={"batches": 1, "epochs": 1})

    class Uncompiled(Small):
        def build_model(self) -> Any:
            inputs = tf.keras.layers.Input(shape=(4,))
            return tf.keras.models.Model(inputs=inputs, outputs=inputs)

    with pytest.raises(InvalidModelException, match="must return a compiled model"):
        train(make_task, Uncompiled)


MODEL_DEF = """
import tensorflow as tf
from determined import keras

class Small(keras.TFKerasTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self):
        inputs = tf.keras.layers.Input(shape=(4,))
        hidden = tf.keras.layers.Dense(self.context.get_hparam("units"), activation="relu")(inputs)
        outputs = tf.keras.layers.Dense(1, activation="sigmoid")(hidden)
        model = self.context.wrap_model(tf.keras.models.Model(inputs=inputs, outputs=outputs))
        model.compile(optimizer="adam", loss="binary_crossentropy")
        return model

    def build_training_data_loader(self):
        return None

    def build_validation_data_loader(self):
        return None
"""


def test_loading_a_checkpoint(stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path) -> None:
    folder = train(make_task) / newest(stub)
    loaded = json.loads((folder / "load_data.json").read_text())
    loaded["trial_cls_spec"] = "model_def:Small"
    (folder / "load_data.json").write_text(json.dumps(loaded))
    (folder / "code" / "model_def.py").write_text(MODEL_DEF)
    sys.modules["model_def"] = sys.modules[__name__]
    model = keras.load_model_from_checkpoint_path(str(folder))
    # The earlier module of that name is restored.
    assert sys.modules.pop("model_def") is sys.modules[__name__]
    trial = Small(keras.TFKerasTrialContext(core._dummy_init(), EnvContext({}, HPARAMS)))
    expected = trial.build_model()
    _state.load_weights(expected, folder, "it")
    np.testing.assert_allclose(model(X), expected(X), atol=1e-6)
    with pytest.raises(FileNotFoundError, match="is no checkpoint of a Keras trial"):
        keras.load_model_from_checkpoint_path(tmp_path)


def test_a_checkpoint_of_the_other_keras(tmp_path: pathlib.Path) -> None:
    other = 3 if _backend.generation() == 2 else 2
    (tmp_path / (_state.WEIGHTS_3 if other == 3 else f"{_state.WEIGHTS_2}.index")).touch()
    (tmp_path / "load_data.json").write_text(
        json.dumps(
            {
                "trial_type": "TFKerasTrial",
                "trial_cls_spec": "m:T",
                "experiment_config": {},
                "hparams": {},
            }
        )
    )
    with pytest.raises(RuntimeError, match=f"written with Keras {other}, but this process uses"):
        keras.load_model_from_checkpoint_path(tmp_path)


def test_context_off_the_cluster() -> None:
    declared = {
        "global_batch_size": {"type": "const", "val": 16},
        "units": {"type": "int", "minval": 2, "maxval": 4},
        "lr": {"type": "log", "base": 10, "minval": -3, "maxval": -2},
        "kind": {"type": "categorical", "vals": ["a"]},
        "deep": {"drop": {"type": "double", "minval": 0, "maxval": 1}},
    }
    context = keras.TFKerasTrialContext.from_config({"hyperparameters": declared, "data": {"u": 1}})
    assert context.get_per_slot_batch_size() == context.get_global_batch_size() == 16
    assert 2 <= context.get_hparam("units") < 4 and 1e-3 <= context.get_hparam("lr") <= 1e-2
    assert context.get_hparam("kind") == "a" and 0 <= context.get_hparam("deep")["drop"] <= 1
    assert context.get_data_config() == {"u": 1}
    trial = Small(context)
    model = trial.build_model()
    model.fit(*trial.build_training_data_loader(), verbose=0)


TWO_SLOTS = """
import numpy as np
import tensorflow as tf
from determined import keras
from tests.test_keras import X, Y, Small

class Two(Small):
    def __init__(self, context):
        super().__init__(context)
        context.configure_fit(shuffle=False)
        assert context.get_per_slot_batch_size() == 4

    def keras_callbacks(self):
        return [keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=1, min_delta=1e3)]
"""


@pytest.mark.parametrize("collectives", [False, True])
def test_two_slots_train_one_model(
    stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path, collectives: bool
) -> None:
    """Two workers with half a batch each learn what one worker learns with the whole batch."""

    class One(Small):
        def __init__(self, context: keras.TFKerasTrialContext) -> None:
            super().__init__(context)
            context.configure_fit(shuffle=False)
            self.callbacks = [
                keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=1, min_delta=1e3)
            ]

    folder = train(make_task, One)
    expected = weights(folder / newest(stub))
    first = dict(stub.metrics)
    stub.metrics.clear()
    stub.order.clear()
    (tmp_path / "model_def.py").write_text(TWO_SLOTS)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    make_task(config(), DET_SLOT_IDS="[0,1]", DET_HPARAMS=json.dumps(HPARAMS))
    environment = {
        **os.environ,
        "PYTHONPATH": str(pathlib.Path(det.__file__).parent.parent),
        "INTER_TRAIN_PROCESS_COMM_PORT_1": str(port),
        # Where nobody asks for them, a trusted network decides.
        **({"DET_TRUSTED_NETWORK": "1"} if collectives else {}),
    }
    command = [sys.executable, "-m", "determined.launch.torch_distributed"]
    done = subprocess.run(
        [*command, "--", "--trial", "model_def:Two"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    said = (
        "TensorFlow's collectives average the gradients of 2 workers" in done.stderr + done.stdout
    )
    assert said == collectives, done.stderr + done.stdout
    assert stub.metrics.keys() == first.keys()
    for key, values in first.items():
        assert stub.metrics[key] == pytest.approx(values, abs=1e-4)
    for one, other in zip(expected, weights(folder / newest(stub))):
        np.testing.assert_allclose(one, other, atol=1e-5)


# DeterminedCallback.


def heard(stub: Stub, core_context: core.Context) -> None:
    """Wait until the task knows of a preemption by the master."""
    deadline = time.monotonic() + DEADLINE
    while stub.preempt and not core_context.preempt.should_preempt(auto_ack=False):
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


@pytest.fixture
def scripted(stub: Stub, make_task: MakeTask) -> Iterator[Any]:
    """Returns a function that runs ``fit`` in a separate script."""

    def run(epochs: int, checkpoint: Optional[str] = None, **kwargs: Any) -> Any:
        make_task(config())
        callbacks = kwargs.pop("callbacks", [])
        continue_id = kwargs.pop("continue_id", 12)
        with core.init() as core_context:
            heard(stub, core_context)
            tf.keras.utils.set_random_seed(3)
            model = tf.keras.models.Sequential(
                [
                    tf.keras.layers.Input(shape=(4,)),
                    tf.keras.layers.Dense(1, activation="sigmoid"),
                ]
            )
            model.compile(
                optimizer=tf.keras.optimizers.Adam(0.01),
                loss="binary_crossentropy",
                metrics=["accuracy"],
            )
            callback = keras.DeterminedCallback(core_context, checkpoint, continue_id, **kwargs)
            made = [make(core_context) for make in callbacks]
            model.fit(
                X,
                Y,
                batch_size=8,
                epochs=epochs,
                shuffle=False,
                validation_data=(X, Y),
                callbacks=[callback, *made],
                verbose=2,
            )
            return model.get_weights()

    yield run


def test_callback(stub: Stub, scripted: Any, make_task: MakeTask) -> None:
    scripted(3, callbacks=[lambda core_context: keras.TensorBoard(core_context, log_dir="/x")])
    assert stub.steps("training") == stub.steps("validation") == [5, 10, 15]
    assert set(stub.values("training", 5)) == {"loss", "accuracy", "epochs", "batches"}
    assert stub.values("validation", 10)["epochs"] == 2
    assert [c["metadata"]["steps_completed"] for c in stub.checkpoints.values()] == [5, 10, 15]
    assert [r.json["progress"] for r in stub.sent("POST", "/progress")][-1] == 1.0
    shared = make_task(config())
    board = shared / "team" / "cluster-1" / "tensorboard" / "experiment" / "5" / "trial" / "12"
    assert list((board / "train").iterdir()) and list((board / "validation").iterdir())


def test_callback_resumes(stub: Stub, scripted: Any) -> None:
    whole = scripted(4)
    stub.checkpoints.clear()
    stub.metrics.clear()
    stub.order.clear()
    stub.change(preempt=True)
    scripted(4, checkpoint_epochs=0)
    assert stub.steps("training") == [5]
    stub.wait_for(lambda: stub.sent("POST", "ack_preemption"))
    stub.change(preempt=False)
    resumed = scripted(4, checkpoint=newest(stub))
    assert stub.steps("training") == [5, 10, 15, 20]
    for one, other in zip(whole, resumed):
        np.testing.assert_allclose(one, other, atol=1e-6)
    # Under another id only the weights are loaded.
    stub.metrics.clear()
    stub.order.clear()
    scripted(1, checkpoint=newest(stub), continue_id=77, train_metrics_report_period=2)
    assert stub.steps("training") == [2, 4]


def test_callback_arguments() -> None:
    with pytest.raises(ValueError, match="'epoch' or a number of batches"):
        keras.DeterminedCallback(core._dummy_init(), None, 1, train_metrics_report_period=0)


def test_own_way_of_saving(stub: Stub, make_task: MakeTask) -> None:
    saved = []

    class Own(keras.DeterminedCallback):
        def save_model(self, model: Any, path: str, distributed: Any) -> None:
            pathlib.Path(path).write_text("own")
            saved.append(path)

    make_task(config())
    with core.init() as core_context:
        model = tf.keras.models.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(X, Y, epochs=1, verbose=0, callbacks=[Own(core_context, None, 1)])
    assert len(saved) == 1
    assert "model_checkpoint" in stub.checkpoints[newest(stub)]["resources"]


def test_lazy_names() -> None:
    assert keras.callbacks.Callback is not None
    assert keras.TFKerasTensorBoard is keras.callbacks.TensorBoard is not keras.TensorBoard
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        keras.nothing  # noqa: B018
    assert "DeterminedCallback" in dir(keras)


def test_tensorboard_callback(
    stub: Stub, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    class Drawing(Small):
        def keras_callbacks(self) -> List[Any]:
            return [keras.callbacks.TensorBoard(log_dir="/nowhere", update_freq="batch")]

    with caplog.at_level(logging.ERROR):
        folder = train(make_task, Drawing)
    board = folder / "cluster-1" / "tensorboard" / "experiment" / "5" / "trial" / "12"
    assert os.listdir(board / "train") and not pathlib.Path("/nowhere").exists()
