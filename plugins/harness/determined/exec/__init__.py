"""The programs that the platform starts in its tasks."""
