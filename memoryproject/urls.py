"""Every address of the site. The apps' modules name their own paths in full."""

from django.contrib import admin
from django.urls import include, path

from memoryproject.health import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("admin/", admin.site.urls),
    path("", include("django_prometheus.urls")),
    path("", include("threads.api.urls")),
    path("", include("recall.api.urls")),
    path("", include("agents.api.urls")),
    path("", include("agents.studio.urls")),
]

handler400 = "threads.api.errors.bad_request"
handler404 = "threads.api.errors.page_not_found"
handler500 = "threads.api.errors.server_error"
