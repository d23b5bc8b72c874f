from django.apps import AppConfig


class MemoryProjectConfig(AppConfig):
    name = "memoryproject"
    verbose_name = "Project"
