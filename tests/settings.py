"""The project's settings with everything it keeps in a temporary folder."""

import atexit
import os
import shutil
import tempfile

os.environ.pop("DATABASE_URL", None)
os.environ.pop("CELERY_BROKER_URL", None)
os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="memory-tests-")
os.environ["MEMORY_MODEL"] = "offline"
atexit.register(shutil.rmtree, os.environ["VAR_DIR"], ignore_errors=True)

from memoryproject.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {  # noqa: F405
    "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
}
STATIC_ROOT.mkdir()  # noqa: F405
ALLOWED_HOSTS = [*ALLOWED_HOSTS, "testserver"]  # noqa: F405
