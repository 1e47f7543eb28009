"""The exceptions that user code may catch, with the names of Determined's package."""

from __future__ import annotations

from typing import Any, Dict, Type


class InvalidHP(Exception):
    """Raised by user code: these hyperparameters cannot work, so end this trial early.

    ``core.Context`` reports it as an early exit: the search continues with other trials, and this
    trial counts as completed instead of failed.

    Example::

        if hparams["hidden"] % hparams["heads"]:
            raise det.InvalidHP("hidden must be a multiple of heads")
    """

    def __init__(self, msg: str = "...") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes a message of type str, not {type(msg).__name__}")
        super().__init__(msg)
        self.msg = msg


class EnterpriseOnlyError(Exception):
    """The master lacks a feature that the caller asked for.

    Example::

        try:
            client.create_model("name")
        except errors.EnterpriseOnlyError as err:
            print("this master cannot:", err)
    """


class InternalException(Exception):
    """An error inside the platform; please report it.

    Example:

        >>> print(InternalException("no trial"))
        Internal error: no trial. Please report this to your administrator.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = f"Internal error: {message}. Please report this to your administrator."

    def __str__(self) -> str:
        return self.message


class InvalidExperimentException(BaseException):
    """The experiment cannot run as it is written.

    Example: ``raise InvalidExperimentException("global_batch_size is missing")``
    """


class InvalidDataTypeException(InvalidExperimentException):
    """The experiment's data has a type that the framework does not accept.

    Example:

        >>> print(InvalidDataTypeException(list, "give a DataLoader"))
        Invalid data type (list): give a DataLoader.
    """

    def __init__(self, typ: Type[Any], message: str) -> None:
        super().__init__(f"Invalid data type ({typ.__name__}): {message}.")


class InvalidConfigurationException(InvalidExperimentException):
    """The experiment's configuration contradicts itself or the code.

    Example:

        >>> print(InvalidConfigurationException({"a": 1}, "a must be even"))
        Invalid configuration ({'a': 1}): a must be even.
    """

    def __init__(self, config: Dict[str, Any], message: str) -> None:
        super().__init__(f"Invalid configuration ({config}): {message}.")


class InvalidModelException(InvalidExperimentException):
    """The model is invalid, or uses something that is not supported.

    Example: ``raise InvalidModelException("call wrap_model first")``
    """


class InvalidCheckpointException(Exception):
    """A checkpoint lacks files that are required to load it.

    Example::

        try:
            trial = keras.load_model_from_checkpoint_path(path)
        except errors.InvalidCheckpointException:
            print("this folder is no checkpoint of a trial class")
    """

    def __init__(self) -> None:
        super().__init__("Invalid checkpoint.")


class StopLoadingImplementation(Exception):
    """Ends the loading of user code on purpose.

    Example: ``raise StopLoadingImplementation``
    """


class WorkerError(Exception):
    """A worker process failed without a reason.

    Example: ``raise WorkerError("worker 3 ended without a reason")``
    """


class WorkerFinishedGracefully(Exception):
    """A worker ended before its peers, on purpose.

    Example: ``raise WorkerFinishedGracefully``
    """


class SkipWorkloadException(Exception):
    """This phase of training may be skipped.

    Example: ``raise SkipWorkloadException``
    """


class CheckpointNotFound(Exception):
    """The checkpoint is not in checkpoint storage.

    Example::

        try:
            with core_context.checkpoint.restore_path(uuid) as path:
                load(path)
        except errors.CheckpointNotFound:
            print("its files are gone: training starts from the beginning")
    """


class CheckpointStateException(Exception):
    """The checkpoint is not in a state that allows the request.

    Example::

        try:
            checkpoint.download()
        except errors.CheckpointStateException as err:
            print("the checkpoint was deleted, or is not whole:", err)
    """


class NoDirectStorageAccess(Exception):
    """Checkpoint storage cannot be reached from here.

    Example::

        try:
            checkpoint.download(mode=client.DownloadMode.DIRECT)
        except errors.NoDirectStorageAccess:
            checkpoint.download(mode=client.DownloadMode.MASTER)
    """


class ProxiedDownloadFailed(Exception):
    """The master could not send the checkpoint.

    Example::

        try:
            checkpoint.download(mode=client.DownloadMode.MASTER)
        except errors.ProxiedDownloadFailed:
            checkpoint.download(mode=client.DownloadMode.DIRECT)
    """


class MultipleDownloadsFailed(Exception):
    """Every way to download the checkpoint failed.

    Example::

        try:
            checkpoint.download()
        except errors.MultipleDownloadsFailed as err:
            print(err)
    """


class CommunicationError(RuntimeError):
    """The workers of a distributed job could not communicate.

    Example::

        try:
            core_context.distributed.allgather(loss)
        except errors.CommunicationError as err:
            print("a worker is gone:", err)
    """


class CommunicationTimeout(CommunicationError, TimeoutError):
    """A worker of a distributed job did not answer in time.

    Example::

        try:
            core_context.distributed.allgather(loss)
        except errors.CommunicationTimeout as err:
            print("a worker is late:", err)       # only with DET_COMM_TIMEOUT_SECONDS
    """
