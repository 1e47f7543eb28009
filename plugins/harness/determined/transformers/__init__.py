"""Hugging Face's Trainer on the cluster: pass a ``DetCallback`` among its ``callbacks``."""

try:
    import transformers  # noqa: F401
except ImportError as err:
    raise ImportError(
        "determined.transformers needs transformers. Install transformers: pip install transformers"
    ) from err

from determined.transformers._callback import DetCallback

__all__ = ["DetCallback"]
