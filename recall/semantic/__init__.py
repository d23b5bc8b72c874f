"""Semantic recall: finding messages by meaning and by words."""
