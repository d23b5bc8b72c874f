"""API keys in the admin: made, looked at and revoked there as by the command."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from rest_framework_api_key.models import APIKey as UnusedApiKey
from unfold.admin import ModelAdmin

from threads.access import ApiKey, check_pattern
from threads.errors import InvalidInput


class ApiKeyForm(forms.ModelForm):
    class Meta:
        model = ApiKey
        fields = [
            "name",
            "resources",
            "all_resources",
            "read_only",
            "expiry_date",
            "rate_limit",
        ]

    def clean_resources(self) -> list[str]:
        patterns = self.cleaned_data["resources"]
        try:
            for pattern in patterns:
                check_pattern(pattern)
        except InvalidInput as fault:
            raise forms.ValidationError(fault.message) from fault
        return patterns

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if bool(values.get("resources")) == bool(values.get("all_resources")):
            raise forms.ValidationError(
                "Name at least one resource, or all of them, not both."
            )
        return values


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """The secret text is shown once, when the key is saved the first time."""

    form = ApiKeyForm
    list_display = ["name", "prefix", "reach", "read_only", "created", "usable"]
    list_filter = ["revoked", "read_only", "all_resources"]
    search_fields = ["name", "prefix"]
    actions = ["revoke_keys"]

    @admin.display(description="Reaches")
    def reach(self, key: ApiKey) -> str:
        return "everything" if key.all_resources else ", ".join(key.resources)

    @admin.display(description="Usable", boolean=True)
    def usable(self, key: ApiKey) -> bool:
        return key.usable

    @admin.action(description="Revoke the selected keys", permissions=["change"])
    def revoke_keys(self, request: HttpRequest, queryset: Any) -> None:
        ended = queryset.filter(revoked=False).update(revoked=True)
        self.message_user(request, f"{ended} keys revoked.")

    def save_model(
        self, request: HttpRequest, obj: ApiKey, form: forms.ModelForm, change: bool
    ) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        text = ApiKey.objects.assign_key(obj)
        obj.save()
        self.message_user(
            request, f"The key is shown this once: {text}", messages.WARNING
        )


# The package's own kind of key reaches nothing here.
if admin.site.is_registered(UnusedApiKey):
    admin.site.unregister(UnusedApiKey)
