"""Requests made up from the OpenAPI document find no 5xx and no undeclared reply."""

from __future__ import annotations

import os

import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

# The agents' operations stream, and are tried by the real clients.
schema = schemathesis.openapi.from_wsgi(
    "/api/openapi.json", get_wsgi_application()
).include(tag="memory")


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# More in the integration run than at a desk.
EXAMPLES = 25 if os.environ.get("CI") else 3


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_replies_are_declared_and_never_5xx(case, thread):
    case.call_and_validate(checks=CHECKS)
    # Once more where there is something to find.
    if "agentId" in (case.query or {}):
        case.query["agentId"] = "agent1"
    known = {"thread_id": "t1", "message_id": "m1", "resource_id": "res-a"}
    for name in case.path_parameters or {}:
        case.path_parameters[name] = known[name]
    case.call_and_validate(checks=CHECKS)
