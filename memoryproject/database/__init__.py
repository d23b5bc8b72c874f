"""PostgreSQL as Django reaches it, with moments read faster."""
