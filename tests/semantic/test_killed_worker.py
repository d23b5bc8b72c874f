"""A worker that is killed in the middle of a batch loses nothing and doubles nothing."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.utils import timezone

from recall.embedding.models import Embedding, PendingEmbedding

# Claims a batch, says so, and never comes back from its embedder.
WORKER = """
import sys, time
import django
django.setup()
from recall.embedding import filling, registry
from tests.semantic.conftest import PlannedEmbedder

class Stuck(PlannedEmbedder):
    def embed_documents(self, texts):
        print(len(texts), flush=True)
        time.sleep(600)

registry.register(Stuck())
filling.embed_due()
"""


@pytest.mark.django_db(transaction=True)
def test_everything_is_embedded_once_after_a_worker_was_killed(
    planned, memory, say, embed, database_url
):
    say("t1", {f"m{n}": f"text {n}" for n in range(20)})
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "memoryproject.settings",
        "DATABASE_URL": database_url,
        "MEMORY_EMBEDDER": "planned",
    }
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER], env=environment, stdout=subprocess.PIPE
    )
    try:
        assert worker.stdout.readline() == b"20\n"
        assert embed() == 0  # all of it is the worker's
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()
    # The end of its lease.
    PendingEmbedding.objects.update(not_before=timezone.now() - timedelta(seconds=1))
    assert embed() == 20
    assert Embedding.objects.count() == 20
    assert PendingEmbedding.objects.count() == 0
    assert embed() == 0
