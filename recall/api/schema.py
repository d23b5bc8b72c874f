from drf_spectacular.utils import extend_schema


def describe(name, query=None, body=None):
    return extend_schema(
        operation_id=name, parameters=[query] if query else [], request=body
    )
