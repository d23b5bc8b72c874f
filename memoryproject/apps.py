from django.apps import AppConfig


class MemoryProjectConfig(AppConfig):
    name = "memoryproject"
    verbose_name = "Project"

    def ready(self) -> None:
        from memoryproject import checks  # noqa: F401
