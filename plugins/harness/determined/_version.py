"""The two versions of this package, in a module that a build can read without further imports."""

# The release whose interface this package offers to user code.
API_VERSION = "0.38.1"

# The release of this package itself, and of its distribution.
DETENT_VERSION = "0.1.0"
