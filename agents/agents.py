"""The agent that every installation has."""

from agents.agent import Agent
from agents.registry import register

assistant = register(
    Agent(
        "assistant",
        "Assistant",
        description="Answers with the configured model and remembers conversations.",
        instructions=(
            "You are a helpful assistant. You remember this conversation and what "
            "this person told you in others. When you use something that was "
            "remembered, say so plainly; when you do not know, say that."
        ),
        memory={
            "semantic_recall": True,
            "working_memory": True,
            "generate_title": True,
        },
    )
)
