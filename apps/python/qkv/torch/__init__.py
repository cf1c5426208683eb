"""qkv inside PyTorch: attention with gradients, and any model on it.

    o = qkv.torch.attention(q, k, v, causal=True)   with gradients
    o = qkv.torch.sdpa(query, key, value)           PyTorch's function
    with qkv.torch.use():                           a model's attention
        model(**inputs)

Importing it lets all calls of qkv in the process run on PyTorch's
threads instead of a pool of their own.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("qkv.torch needs PyTorch: pip install torch") from error

from . import _threads
from ._attention import attention
from ._sdpa import sdpa
from ._usage import FallbackWarning, Usage
from ._use import use

_threads.share()

__all__ = ["FallbackWarning", "Usage", "attention", "sdpa", "use"]
