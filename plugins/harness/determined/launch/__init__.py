"""The launchers, which start a user's program on all slots of a trial."""
