"""Stored messages as UI messages of the AI SDK, and back.

Equal to what Mastra's converters give for the same messages, so that a client sees the
same conversation whichever server it talks to. Each direction that loses something by
the rules of the format says so where it does.
"""

from threads.ui_messages.conversion import to_ai_sdk_v4_messages, to_ai_sdk_v5_messages
from threads.ui_messages.stored import from_ui_message

__all__ = ["from_ui_message", "to_ai_sdk_v4_messages", "to_ai_sdk_v5_messages"]
