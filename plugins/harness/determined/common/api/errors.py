"""The exceptions of requests to the master."""

from __future__ import annotations

from typing import Any, Dict, Optional, Protocol


class AnsweredResponse(Protocol):
    """The part of a response that an error uses.

    Example::

        def explain(response: errors.AnsweredResponse) -> str:
            return response.json()["error"] if response.status_code < 500 else response.text
    """

    status_code: int

    @property
    def text(self) -> str:
        """The body as text."""

    def json(self) -> Any:
        """The body as JSON."""


class BadRequestException(Exception):
    """The request failed; every error of the client is one of these.

    Example::

        try:
            session.get("/api/v1/experiments/5")
        except errors.BadRequestException as err:
            print(err.message)
    """

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class BadResponseException(Exception):
    """The master's answer does not have the documented form.

    Example::

        try:
            session.get("/api/v1/me").json()
        except errors.BadResponseException as err:
            print("is that a master?", err.message)
    """

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class EmptyResultException(BadResponseException):
    """The master's answer does not contain the requested object.

    Example::

        try:
            user = client.get_user_by_name("ada")
        except errors.EmptyResultException:
            user = None
    """


class MasterNotFoundException(BadRequestException):
    """No master answered.

    Example::

        try:
            client.login("localhost:8080")
        except errors.MasterNotFoundException as err:
            print("no master answers:", err)
    """


class APIException(BadRequestException):
    """The master answered with an error.

    ``status_code`` is the HTTP status, ``response_error`` the error object of the body (None
    where there is none), ``message`` its text.

    Example::

        try:
            session.post("/api/v1/experiments/5/pause")
        except errors.APIException as err:
            print(err.status_code, err.message)
    """

    def __init__(self, response: AnsweredResponse, *args: Any) -> None:
        self.status_code = response.status_code
        self.response_error: Optional[Dict[str, Any]] = _error_object(response)
        super().__init__(error_text(response) or f"HTTP status {response.status_code}", *args)


class NotFoundException(APIException):
    """The master has no such object, or the user may not see it (404).

    Example::

        try:
            experiment = client.get_experiment(5)
        except errors.NotFoundException:
            experiment = None
    """

    def __init__(self, error_message: str) -> None:
        BadRequestException.__init__(self, error_message)
        self.response_error = None
        self.status_code = 404


class StreamException(BadRequestException):
    """The master ended a stream with an error.

    Example::

        try:
            for line in client.get_trial(7).iter_logs(follow=True):
                print(line, end="")
        except errors.StreamException as err:
            print("the stream ended early:", err)
    """

    def __init__(self, master: str, path: str, error: Any) -> None:
        found: Dict[str, Any] = error if isinstance(error, dict) else {"message": str(error)}
        self.status_code: Optional[int] = found.get("httpCode")
        super().__init__(f"{master}{path}: {found.get('message') or found}")


class ForbiddenException(BadRequestException):
    """The caller may not do this (403).

    Example::

        try:
            session.delete("/api/v1/experiments/5")
        except errors.ForbiddenException as err:
            print("only its owner may:", err)
    """

    status_code = 403

    def __init__(self, message: str = "") -> None:
        text = f"Forbidden({message})"
        if message not in ("invalid credentials", "user not found"):
            text += ": ask your administrator for access to this resource."
        super().__init__(text)


class UnauthenticatedException(BadRequestException):
    """The caller's token is missing or no longer valid (401).

    Example::

        try:
            client.whoami()
        except errors.UnauthenticatedException:
            client.login(user="ada", password=password)
    """

    status_code = 401

    def __init__(
        self,
        message: str = "Unauthenticated: sign in with 'det user login <username>'.",
    ) -> None:
        super().__init__(message)


class CorruptTokenCacheException(Exception):
    """The file of sessions that ``det user login`` writes is damaged.

    Example::

        try:
            store = api.TokenStore("http://localhost:8080")
        except errors.CorruptTokenCacheException:
            print("sign in again: det user login")
    """


class InvalidCredentialsException(UnauthenticatedException):
    """User name and password do not match.

    Example::

        try:
            client.login(user="ada", password=password)
        except errors.InvalidCredentialsException:
            print("wrong username or password")
    """

    def __init__(self) -> None:
        super().__init__("Invalid username/password combination. Please try again.")


def _error_object(response: AnsweredResponse) -> Optional[Dict[str, Any]]:
    try:
        found = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def error_text(response: AnsweredResponse) -> str:
    """Return the message of an error body, which has one of two forms.

    Example: ``print(error_text(response))``
    """
    try:
        body = response.json()
    except ValueError:
        return response.text
    if not isinstance(body, dict):
        return response.text
    if body.get("message") is not None:
        return str(body["message"])
    error = body.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error.get("error") or "")
    return str(error) if error else response.text
