"""Tags of Studio's templates."""

from typing import Any

from django import template
from django.utils.http import urlencode

register = template.Library()


@register.simple_tag
def querystring_of(**parameters: Any) -> str:
    """``name=value&…`` with every value encoded; empty values are left out."""
    return urlencode({k: v for k, v in parameters.items() if v not in ("", None)})
