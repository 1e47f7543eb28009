"""The exceptions that user code may catch, under the names it knows."""

from __future__ import annotations

from typing import Any, Dict, Type


class InvalidHP(Exception):
    """Raised by user code: these hyperparameters cannot work, so end this trial early.

    ``core.Context`` turns it into an early exit: the search moves on, and the trial counts
    as completed instead of failed.
    """

    def __init__(self, msg: str = "...") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes a message of type str, not {type(msg).__name__}")
        super().__init__(msg)
        self.msg = msg


class EnterpriseOnlyError(Exception):
    """The master lacks a feature that the caller asked for."""


class InternalException(Exception):
    """A broken promise inside the platform; please report it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = f"Internal error: {message}. Please report this to your administrator."

    def __str__(self) -> str:
        return self.message


class InvalidExperimentException(BaseException):
    """The experiment cannot run as it is written."""


class InvalidDataTypeException(InvalidExperimentException):
    """The experiment's data has a type that the framework cannot take."""

    def __init__(self, typ: Type[Any], message: str) -> None:
        super().__init__(f"Invalid data type ({typ.__name__}): {message}.")


class InvalidConfigurationException(InvalidExperimentException):
    """The experiment's configuration contradicts itself or the code."""

    def __init__(self, config: Dict[str, Any], message: str) -> None:
        super().__init__(f"Invalid configuration ({config}): {message}.")


class InvalidModelException(InvalidExperimentException):
    """The model is invalid, or uses something that is not supported."""


class InvalidCheckpointException(Exception):
    """A checkpoint lacks what is needed to load it."""

    def __init__(self) -> None:
        super().__init__("Invalid checkpoint.")


class StopLoadingImplementation(Exception):
    """Ends the loading of user code on purpose."""


class WorkerError(Exception):
    """A worker process failed and could not say why."""


class WorkerFinishedGracefully(Exception):
    """A worker ended before its peers, on purpose."""


class SkipWorkloadException(Exception):
    """This phase of training may be skipped."""


class CheckpointNotFound(Exception):
    """The checkpoint is not in checkpoint storage."""


class CheckpointStateException(Exception):
    """The checkpoint is not in a state that allows the request."""


class NoDirectStorageAccess(Exception):
    """Checkpoint storage cannot be reached from here."""


class ProxiedDownloadFailed(Exception):
    """The master could not hand out the checkpoint."""


class MultipleDownloadsFailed(Exception):
    """Every way to download the checkpoint failed."""


class CommunicationError(RuntimeError):
    """The workers of a distributed job could not talk to each other."""


class CommunicationTimeout(CommunicationError, TimeoutError):
    """A worker of a distributed job did not come within the time allowed."""
