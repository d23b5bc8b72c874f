"""Settings, all of them from the environment. See docs/reference/settings.md."""

import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from environs import Env

from memoryproject.embedded.broker import EmbeddedBroker
from memoryproject.embedded.places import EmbeddedServiceError, secret
from memoryproject.embedded.postgres import EmbeddedPostgres
from memoryproject.environment import LOG_LEVELS, database, one_of
from memoryproject.logs import logging_settings

env = Env()

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.str("VAR_DIR", "") or BASE_DIR / "var").expanduser().absolute()

HOST = env.str("HOST", "127.0.0.1")
PORT = env.int("PORT", 8000)
DEBUG = env.bool("DEBUG", False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", [])
# Behind a proxy that serves HTTPS and sets X-Forwarded-Proto.
HTTPS = env.bool("HTTPS", False)

# Who may use the HTTP API: "loopback" lets callers from this machine in without a key,
# "required" asks everybody for one.
ACCESS = one_of("ACCESS", env.str("ACCESS", "loopback"), ("loopback", "required"))

INSTALLED_APPS = [
    "memoryproject",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "rest_framework_api_key",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "django_celery_beat",
    "django_celery_results",
    "django_prometheus",
    "threads",
    "recall",
    "agents",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "memoryproject.content_security.ContentSecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

# What a request below /api/ or /chat/ passes instead: programs bring no session to
# restore, and each of these costs every request.
API_MIDDLEWARE = [
    "memoryproject.content_security.ContentSecurityMiddleware",
]
# Threads that run synchronous views; each keeps one database connection.
VIEW_THREADS = env.int("VIEW_THREADS", 6)

ROOT_URLCONF = "memoryproject.urls"
ASGI_APPLICATION = "memoryproject.asgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Services. An address given in the environment replaces the embedded one.
DATABASE_URL = env.str("DATABASE_URL", "")
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", "")
EMBEDDED_POSTGRES = not DATABASE_URL
EMBEDDED_BROKER = not CELERY_BROKER_URL

try:
    SECRET_KEY = env.str("SECRET_KEY", "") or secret(VAR_DIR, "secret_key")
    DATABASES = {
        "default": database(DATABASE_URL)
        if DATABASE_URL
        else EmbeddedPostgres(VAR_DIR).connection()
        | {"ENGINE": "memoryproject.database"}
    }
except EmbeddedServiceError as error:
    raise ImproperlyConfigured(str(error)) from error

# Connections kept by a process that serves in many threads. 0: each thread keeps its own.
DATABASE_POOL_MAX = env.int("DATABASE_POOL_MAX", 20)
DATABASES["default"] |= {
    # Django wants 0 beside a pool, which keeps the connections itself.
    "CONN_MAX_AGE": 0 if DATABASE_POOL_MAX else 60,
    "CONN_HEALTH_CHECKS": not DATABASE_POOL_MAX,
    "ATOMIC_REQUESTS": False,
}
DATABASES["default"].setdefault("OPTIONS", {}).update(
    connect_timeout=5, application_name="memory"
)
# Statements are planned once in a connection. Off for a pooler between here and the
# server that hands a connection to somebody else after each transaction.
if env.bool("DATABASE_PREPARED_STATEMENTS", True):
    DATABASES["default"]["OPTIONS"] |= {
        "server_side_binding": True,
        "prepare_threshold": 3,
    }
if DATABASE_POOL_MAX:
    DATABASES["default"]["OPTIONS"]["pool"] = {
        "min_size": min(env.int("DATABASE_POOL_MIN", 1), DATABASE_POOL_MAX),
        "max_size": DATABASE_POOL_MAX,
        # Seconds a thread waits for a connection, and an unused one is kept.
        "timeout": env.float("DATABASE_POOL_TIMEOUT", 10.0),
        "max_idle": 300.0,
    }

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
# A file that the manifest lacks is served under its own name, not answered with a 500.
WHITENOISE_MANIFEST_STRICT = False

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = env.int("MAX_REQUEST_BYTES", 64 * 1024 * 1024)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["threads.api.access.CallerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["threads.api.access.IsCaller"],
    "DEFAULT_PARSER_CLASSES": ["threads.api.parsing.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["threads.api.encoding.JsonRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "threads.api.errors.api_exception_handler",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Memory API",
    "DESCRIPTION": "Conversations, and what agents remember of them.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "PREPROCESSING_HOOKS": ["threads.api.openapi.without_aliases"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "agents.api.openapi.add_agents",
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_NAME_OVERRIDES": {"MemoryScope": ["resource", "thread"]},
}

UNFOLD = {
    "SITE_TITLE": "Memory",
    "SITE_HEADER": "Memory",
    "SITE_SUBHEADER": "Conversations and what is remembered",
    # Studio: where "view site" leads.
    "SITE_URL": "/",
    "SHOW_HISTORY": True,
}

# Model that answers. Empty: the first that is configured, else the built-in "offline".
MEMORY_MODEL = env.str("MEMORY_MODEL", "")
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", "")
OPENAI_API_KEY = env.str("OPENAI_API_KEY", "")

MEMORY = {
    # Messages of the thread that recall returns, and that a model is shown.
    "LAST_MESSAGES": env.int("MEMORY_LAST_MESSAGES", 10),
    # Largest message, in bytes of its JSON content.
    "MAX_MESSAGE_BYTES": env.int("MEMORY_MAX_MESSAGE_BYTES", 1024 * 1024),
    "MAX_REPLY_BYTES": env.int("MEMORY_MAX_REPLY_BYTES", 8 * 1024 * 1024),
    # Embedder of semantic recall: "auto", or a name that recall.embedding knows.
    "EMBEDDER": env.str("MEMORY_EMBEDDER", "auto"),
    # Language of the word index: "auto" tells it by each text.
    "LANGUAGE": env.str("MEMORY_LANGUAGE", "auto"),
    # Whom the person at this machine speaks as in Studio.
    "STUDIO_RESOURCE": env.str("MEMORY_STUDIO_RESOURCE", "local"),
    # Requests a minute for API keys that have no limit of their own; 0 is unlimited.
    "API_RATE_LIMIT": env.int("MEMORY_API_RATE_LIMIT", 0),
    # The agent that answers where none is named.
    "CHAT_AGENT": env.str("MEMORY_CHAT_AGENT", "assistant"),
    # What a send does while the thread's run speaks: "queue", "refuse" or "replace".
    "CONCURRENT_RUNS": one_of(
        "MEMORY_CONCURRENT_RUNS",
        env.str("MEMORY_CONCURRENT_RUNS", "queue"),
        ("queue", "refuse", "replace"),
    ),
    # Whether a client's leaving stops the run that it asked for.
    "STOP_ON_DISCONNECT": env.bool("MEMORY_STOP_ON_DISCONNECT", False),
    # Tokens that what a model is shown may have; None is unlimited.
    "CONTEXT_TOKENS": env.int("MEMORY_CONTEXT_TOKENS", 0) or None,
    # Seconds until a model has begun its answer, between two pieces of it, and until a
    # title is written or a tool has ended.
    "MODEL_FIRST_TOKEN_TIMEOUT": env.float("MEMORY_MODEL_FIRST_TOKEN_TIMEOUT", 60.0),
    "MODEL_STALL_TIMEOUT": env.float("MEMORY_MODEL_STALL_TIMEOUT", 45.0),
    "TITLE_TIMEOUT": env.float("MEMORY_TITLE_TIMEOUT", 60.0),
    "TOOL_TIMEOUT": env.float("MEMORY_TOOL_TIMEOUT", 60.0),
}

# Celery
CELERY_BROKER_URL = CELERY_BROKER_URL or EmbeddedBroker(VAR_DIR).url()
CELERY_RESULT_BACKEND = "django-db"
CELERY_RESULT_EXTENDED = True
CELERY_RESULT_EXPIRES = 7 * 24 * 3600
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_TIMEZONE = TIME_ZONE
CELERY_TASK_TRACK_STARTED = True
# A task is done when it has ended, not when it was received: a killed worker's task
# comes back.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", 2)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Seconds: a task is told to stop, then killed.
CELERY_TASK_SOFT_TIME_LIMIT = env.int("TASK_SOFT_TIME_LIMIT", 240)
CELERY_TASK_TIME_LIMIT = CELERY_TASK_SOFT_TIME_LIMIT + 30
# A request that hands over a task waits this long for an unreachable broker, and does
# not try again: the periodic sweeps find what was not handed over.
CELERY_BROKER_CONNECTION_TIMEOUT = 1.0
CELERY_TASK_PUBLISH_RETRY = False
# Attempts within one hand-over; the worker's own connection is not limited by it.
CELERY_BROKER_TRANSPORT_OPTIONS = {"max_retries": 0}
if "redis" in CELERY_BROKER_URL.split(":", 1)[0]:
    CELERY_BROKER_TRANSPORT_OPTIONS |= {
        # Above the longest task, or a second worker would be given a task that runs.
        "visibility_timeout": CELERY_TASK_TIME_LIMIT + 30,
        # kombu looks for tasks of killed workers every ten intervals, a minute by
        # default; with these, every two seconds.
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 1.0,
        "socket_timeout": 3.0,
        "queue_order_strategy": "round_robin",
    }
# Queues are served in turn: a title never waits behind a backlog of embeddings.
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "agents.tasks.generate_title": {"queue": "titles"},
    "recall.tasks.embed_*": {"queue": "embeddings"},
}
WORKER_QUEUES = ["titles", "default", "embeddings"]
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
PERIODIC_TASKS = {
    "recall.tasks.sweep_embeddings": 30.0,
    "agents.tasks.sweep_titles": 30.0,
    "agents.tasks.interrupt_dead_runs": 10.0,
    "agents.tasks.prune_run_events": 300.0,
}
# A run that was not begun when the next is due has become worthless.
CELERY_BEAT_SCHEDULE = {
    task.rsplit(".", 1)[1]: {
        "task": task,
        "schedule": seconds,
        "options": {"expires": seconds},
    }
    for task, seconds in PERIODIC_TASKS.items()
}
# Of those, only failures are kept among the results: there are thousands a day.
CELERY_TASK_ANNOTATIONS = {task: {"ignore_result": True} for task in PERIODIC_TASKS}
CELERY_TASK_STORE_ERRORS_EVEN_IF_IGNORED = True

# Logging: readable lines on a terminal, one JSON object a line elsewhere.
LOG_LEVEL = one_of("LOG_LEVEL", env.str("LOG_LEVEL", "INFO").upper(), LOG_LEVELS)
LOG_FORMAT = one_of(
    "LOG_FORMAT",
    env.str("LOG_FORMAT", "") or ("console" if sys.stderr.isatty() else "json"),
    ("console", "json"),
)
LOGGING = logging_settings(LOG_LEVEL, LOG_FORMAT)
