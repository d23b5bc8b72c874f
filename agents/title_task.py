"""The task that names a conversation after its first reply."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from celery import shared_task

from agents.models import Run
from agents.providers.failures import described
from agents.titles import fallback_title, suggest_title, title_wanted, transcript
from agents.wakes import THREAD_CHANGED, notify
from recall.memory import Memory
from threads.dispatch import publish
from threads.models import Thread

if TYPE_CHECKING:
    from agents.agent import Agent

logger = logging.getLogger(__name__)

ATTEMPTS = 3


def title_after(run: Run, agent: Agent) -> None:
    """Asks for a title after a reply, where one is wanted; harmless otherwise."""
    if not agent.has_memory or run.thread_id is None:
        return
    unnamed = Thread.objects.filter(
        id=run.thread_id, title="", title_source=Thread.TitleSource.NONE
    )
    thread = unnamed.first()
    if thread is not None and title_wanted(thread) is not None:
        publish(generate_title, thread.id)


@shared_task(
    bind=True,
    name="agents.tasks.generate_title",
    max_retries=ATTEMPTS - 1,
    ignore_result=False,
)
def generate_title(task: Any, thread_id: str) -> str | None:
    """Names a thread that nobody has named; tells the name, None when none was due.

    A model that fails is asked again, then a title is made without it. Whoever names the
    thread meanwhile wins.
    """
    thread = Thread.objects.filter(id=thread_id).first()
    wanted = title_wanted(thread) if thread is not None else None
    if wanted is None:
        return None
    agent, options, _run = wanted
    try:
        title = suggest_title(agent, options, thread_id)
    except Exception as error:
        failure = described(error)
        logger.warning("Title of %s: %s", thread_id, failure.message)
        if task.request.retries < task.max_retries:
            wait = min(failure.retry_after or 2 ** (task.request.retries + 1), 60)
            raise task.retry(countdown=wait, exc=None) from None
        title = fallback_title(transcript(thread_id))
    if not title or not Memory(author="model").set_model_title(thread_id, title):
        return None
    notify(THREAD_CHANGED, thread_id)
    return title
