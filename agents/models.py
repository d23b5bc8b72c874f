"""Turns of a conversation: what was asked of a model, and all that came of it."""

from __future__ import annotations

from django.db import models

from threads.identifiers import new_id, now
from threads.json_field import JsonField
from threads.models import IdField, Resource, Thread


class Run(models.Model):
    """One turn: a user's message, the context shown to the model, its reply.

    The row is the truth about a turn. Whichever process executes it writes its ``owner``
    and renews ``heartbeat_at``; every change of ``state`` is a conditional update, so
    that a run ends exactly once. ``options`` is all that is needed to execute the run in
    another process; ``context`` is what the model was shown, with its reasons.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for its turn"
        RUNNING = "running", "the model speaks"
        COMPLETED = "completed", "answered"
        STOPPED = "stopped", "stopped by a person or program"
        FAILED = "failed", "the model or a tool failed"
        INTERRUPTED = "interrupted", "its process died"

    class Trigger(models.TextChoices):
        SEND = "send", "a new message"
        CONTINUE = "continue", "results of the client's tools"
        REGENERATE = "regenerate", "another reply to the same message"

    id = IdField(primary_key=True, default=new_id)
    # Both null for a turn that is not remembered.
    thread = models.ForeignKey(
        Thread,
        models.DO_NOTHING,
        related_name="runs",
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
    )
    resource = models.ForeignKey(
        Resource,
        models.DO_NOTHING,
        related_name="runs",
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
    )
    agent_id = models.CharField(max_length=255)
    trigger = models.CharField(max_length=10, choices=Trigger, default=Trigger.SEND)
    state = models.CharField(max_length=11, choices=State, default=State.QUEUED)
    # Plain text: messages may be deleted, the run tells what it was about.
    user_message_id = IdField(default="", blank=True)
    message_id = IdField(default=new_id)
    replaces_message_id = IdField(default="", blank=True)
    options = JsonField(default=dict, blank=True)
    context = JsonField(null=True, blank=True)
    context_hash = models.CharField(max_length=64, default="", blank=True)

    stop_requested = models.BooleanField(default=False)
    owner = models.CharField(max_length=64, default="", blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)

    finish_reason = models.CharField(max_length=20, default="", blank=True)
    error = models.TextField(default="", blank=True)
    provider = models.TextField(default="", blank=True)
    model = models.TextField(default="", blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    # Milliseconds from the start of the run.
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    created_at = models.DateTimeField(default=now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    events_pruned_at = models.DateTimeField(null=True, blank=True)

    ACTIVE = (State.QUEUED, State.RUNNING)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="run_state_known",
                condition=models.Q(
                    state__in=[
                        "queued",
                        "running",
                        "completed",
                        "stopped",
                        "failed",
                        "interrupted",
                    ]
                ),
            ),
            # One running run per thread.
            models.UniqueConstraint(
                name="run_running_in_thread",
                fields=["thread"],
                condition=models.Q(state="running"),
            ),
            # A message that is sent again attaches to its run, unless that run failed.
            models.UniqueConstraint(
                name="run_of_message",
                fields=["thread", "user_message_id"],
                condition=models.Q(
                    trigger="send", state__in=["queued", "running", "completed"]
                )
                & ~models.Q(user_message_id=""),
            ),
        ]
        indexes = [
            # Runs of a thread, newest first; the next one in its queue.
            models.Index(fields=["thread", "created_at", "id"], name="run_of_thread"),
            # Usage of a resource over a time.
            models.Index(fields=["resource", "created_at"], name="run_of_resource"),
            # Usage of everything over a time; events to be pruned.
            models.Index(fields=["created_at", "id"], name="run_by_creation"),
            # Heartbeats and the search for dead runs.
            models.Index(
                fields=["heartbeat_at"],
                name="run_active",
                condition=models.Q(state__in=["queued", "running"]),
            ),
            # Logs that may be removed.
            models.Index(
                fields=["finished_at"],
                name="run_unpruned",
                condition=models.Q(events_pruned_at=None),
            ),
            # The run that wrote a message.
            models.Index(fields=["message_id"], name="run_of_reply"),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.id} {self.state}"

    @property
    def has_ended(self) -> bool:
        return self.state not in self.ACTIVE


class RunEvent(models.Model):
    """One numbered entry of a run's log, in the vocabulary of the wire.

    ``seq`` counts from 1 without a gap. Removed an hour after the run has ended; the
    run and its message stay.
    """

    run = models.ForeignKey(
        Run,
        models.DO_NOTHING,
        related_name="events",
        db_constraint=False,
        db_index=False,
    )
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=40)
    payload = JsonField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["run", "seq"]
        constraints = [
            # Also the reading of a log from a number on.
            models.UniqueConstraint(name="run_event_number", fields=["run", "seq"]),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
