"""How a turn ends that was not completed, and what a turn cost."""

from __future__ import annotations

from collections.abc import Sequence

from agents import runs
from agents.chunks import Chunk, Event
from agents.closing import broken_off, cut_short
from agents.model_events import Meter
from agents.models import Run
from agents.speaking import Speech
from agents.transcript import Transcript


def stopped(said: Sequence[Event]) -> runs.Ending:
    closing = Transcript.of(said).closing()
    return runs.Ending(Run.State.STOPPED, "stopped", chunks=[*closing, Chunk("abort")])


def failed(
    said: Sequence[Event], run: Run, message: str, name: str = "Error"
) -> runs.Ending:
    """The end of a run that says what went wrong and keeps what was said."""
    interrupted = message == runs.INTERRUPTED
    return runs.Ending(
        Run.State.INTERRUPTED if interrupted else Run.State.FAILED,
        "error",
        message,
        broken_off(said, run.message_id, message, name),
    )


def too_long(said: Sequence[Event], run: Run) -> runs.Ending:
    """The end of a reply over ``MEMORY["MAX_REPLY_BYTES"]``: it counts as given."""
    chunks = cut_short(said, run.message_id)
    return runs.Ending(Run.State.COMPLETED, "length", chunks=chunks)


def used(speech: Speech | None, meter: Meter) -> runs.Usage:
    if speech is None:
        return runs.Usage()
    return runs.Usage(
        meter.input_tokens,
        meter.output_tokens,
        meter.first_token_ms,
        speech.provider,
        speech.model_name,
    )
