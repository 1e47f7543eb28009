"""Writes docs/python/pages, the reference of the package's public names, from its docstrings.

    python -m reference            # writes the pages
    python -m reference --check    # lists names without docstring or example

It reads the source and imports nothing, so that it needs none of the frameworks that the package
works with. ``_source`` finds the public names, ``_pages`` writes Markdown, ``_rules`` holds the
docstrings to their rules. The master serves the pages under /docs/python.
"""
