"""Measures the package beside what people would use without it: ``./justw bench harness``.

    python -m bench --keras PYTHON --compat PYTHON --weed PATH --rounds 5

It is run with the Python of the environment ``torch``. Each part starts programs, ``worker_*.py``,
in pairs that alternate, and the table has the medians of the rounds. A step lasts from the
beginning of one batch to the beginning of the next, so it contains all that happens between.
"""
