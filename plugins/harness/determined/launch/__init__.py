"""What stands between a task's entrypoint and the user's program."""
