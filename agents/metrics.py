"""Numbers of runs for Prometheus, at ``/metrics`` beside the framework's own."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

_RUNS = Counter("memory_runs", "Runs that ended", ["agent", "model", "state"])
_TOKENS = Counter(
    "memory_run_tokens", "Tokens of runs", ["agent", "model", "direction"]
)
_FIRST_TOKEN = Histogram(
    "memory_run_first_token_seconds",
    "Time from the start of a run to its first words",
    ["agent", "model"],
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
_DURATION = Histogram(
    "memory_run_duration_seconds",
    "Time from the start of a run to its end",
    ["agent", "model"],
    buckets=(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300),
)


def observe(
    *,
    agent: str,
    model: str,
    state: str,
    input_tokens: int,
    output_tokens: int,
    first_token_ms: int | None,
    seconds: float,
) -> None:
    """Counts one run that ended in this process."""
    _RUNS.labels(agent, model, state).inc()
    _TOKENS.labels(agent, model, "in").inc(input_tokens)
    _TOKENS.labels(agent, model, "out").inc(output_tokens)
    if first_token_ms is not None:
        _FIRST_TOKEN.labels(agent, model).observe(first_token_ms / 1000)
    _DURATION.labels(agent, model).observe(seconds)
