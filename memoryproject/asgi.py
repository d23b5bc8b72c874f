"""The ASGI application: ``uvicorn memoryproject.asgi:application``."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryproject.settings")
django.setup(set_prefix=False)

from memoryproject.handler import Handler  # noqa: E402 - needs the applications

application = Handler()
