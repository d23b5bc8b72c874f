"""Embeddings: the models that compute them, and the rows that keep them."""
