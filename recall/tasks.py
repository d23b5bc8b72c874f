"""Celery tasks of recall: embeddings.

The rows of :class:`recall.embedding.models.PendingEmbedding` are the truth and these
tasks hints; any of them may run twice, together, or not at all.
"""

from __future__ import annotations

from celery import shared_task

from recall.embedding import filling, spaces
from threads.dispatch import publish

# Seconds of one run, well below the time limit of a task. What is left is handed on.
RUN = 60.0


@shared_task(name="recall.tasks.embed_pending", ignore_result=True)
def embed_pending() -> None:
    """Embeds whatever is due, for all messages in one go."""
    if filling.embed_due(seconds=RUN) and filling.anything_due():
        publish(embed_pending)


@shared_task(name="recall.tasks.sweep_embeddings", ignore_result=True)
def sweep_embeddings() -> None:
    """Finds what was lost: hints that never came, workers that died, missing indexes."""
    spaces.ensure_ready_space()
    if filling.anything_due():
        publish(embed_pending)
    publish(embed_indexes)


@shared_task(name="recall.tasks.embed_indexes", ignore_result=True)
def embed_indexes() -> None:
    """Builds the nearest-neighbour index of spaces that have grown to need one."""
    for status in spaces.EmbeddingSpace.objects.exclude(state="retired"):
        spaces.build_index(status)
