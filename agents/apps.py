from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        # Models can be imported only now.
        from agents import registry
        from recall.profiles import add_resolver

        registry.autodiscover()
        add_resolver(registry.profile_of)
