"""What is shared below the public modules: the client of the master, and checkpoint storage."""
