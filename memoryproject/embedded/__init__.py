"""Services that run beside the project when none is configured."""
