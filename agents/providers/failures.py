"""What went wrong with a provider, in plain words and without secrets.

A provider's own text may hold keys, prompts or another customer's data, so none of it is
passed on; the kind of failure says what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai import exceptions as ai

from threads.errors import MemoryFault


@dataclass(frozen=True)
class Failure:
    """``message`` is for people; ``retry_after`` in seconds when trying again helps."""

    name: str
    message: str
    retry_after: float | None = None
    passing: bool = False


class StreamCut(Exception):
    """The stream ended before the model said that it was done."""


class Unreadable(Exception):
    """The provider sent what is no reply of a model."""


class Stalled(Exception):
    """The model went silent. ``after`` is in seconds."""

    def __init__(self, after: float, *, spoke: bool) -> None:
        super().__init__(after)
        self.after = after
        self.spoke = spoke


def described(error: BaseException) -> Failure:
    """The failure behind an exception from a model, a tool loop or our own code."""
    match error:
        case MemoryFault():
            return Failure(type(error).__name__, error.message)
        case Stalled():
            what = "stopped in the middle of its reply" if error.spoke else "is silent"
            return Failure(
                "Timeout", f"The model {what}: nothing for {error.after:g} seconds."
            )
        case StreamCut():
            return Failure("StreamCut", "The model's reply was cut off.")
        case ai.ModelRateLimitError() | ai.ModelQuotaExceededError():
            wait = error.retry_after
            when = f" Try again in {wait:g} seconds." if wait else " Try again later."
            return Failure(
                "RateLimited", f"The model is over its limit.{when}", wait, passing=True
            )
        case ai.ModelAuthenticationError():
            return Failure(
                "WrongKey", "The model's provider refused the key. Check its settings."
            )
        case ai.ModelNotFoundError():
            return Failure(
                "UnknownModel", f"The provider has no model named {error.model_name}."
            )
        case ai.ModelContextWindowExceededError():
            return Failure(
                "TooLong", "The conversation is longer than the model can take."
            )
        case ai.ModelTimeoutError() | ai.ModelRequestTimeout() | TimeoutError():
            return Failure("Timeout", "The model did not answer in time.", passing=True)
        case ai.ModelConnectionError():
            return Failure(
                "Unreachable", "The model's server cannot be reached.", passing=True
            )
        case ai.ModelServerError() | ai.ModelUnavailableError():
            return Failure(
                "ProviderError", "The model's server has a fault.", passing=True
            )
        case ai.ContentFilterError():
            return Failure("Filtered", "The provider's filter refused this.")
        case ai.ModelHTTPError() if error.status_code >= 500:
            return Failure(
                "ProviderError", "The model's server has a fault.", passing=True
            )
        case ai.ModelHTTPError():
            return Failure(
                "Refused",
                f"The model's server refused the request ({error.status_code}).",
            )
        case ai.UserError():
            return Failure("NotConfigured", "The model is not configured correctly.")
        case ai.UnexpectedModelBehavior() | Unreadable():
            return Failure("Nonsense", "The model sent something unreadable.")
        case ai.ModelAPIError() if isinstance(error.__cause__, ValueError):
            # A line of the stream that is not JSON.
            return Failure("Nonsense", "The model sent something unreadable.")
        case ai.ModelAPIError():
            return Failure("ProviderError", "The model's reply was cut off.")
    return Failure("Error", "The reply failed because of a fault in the server.")
