"""The libraries whose arrays an implementation may take: NumPy's for the checker's own, torch's and JAX's by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ._operations import Operation

Arrays = dict[str, Any]

class Library:
    """NumPy: arrays go as they are and come back as they are."""

    # The library's own gradients of fn: (fn, its operation, arguments with d_o or d_y) to what fn gave and dq, dk ...
    gradients: Callable[[Callable[..., Any], Operation, Arrays], Arrays] | None = None

    def admit(self, dtype: np.dtype[Any]) -> None:
        """Raises ValueError for an element type that the library does not have."""

    def given(self, arguments: Arrays) -> Arrays:
        return {name: self.array(value) if isinstance(value, np.ndarray) else value
                for name, value in arguments.items()}

    def array(self, array: np.ndarray[Any, Any]) -> Any:
        return array

    def taken(self, output: Any) -> Any:
        return output


class Torch(Library):
    """Tensors that share the checker's memory, so that a change of an input is seen."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")

    def array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.name == "bfloat16":  # from_numpy knows NumPy's own types only
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(array)

    def taken(self, output: Any) -> Any:
        return output.detach().cpu() if isinstance(output, self.torch.Tensor) else output

    def gradients(self, fn: Callable[..., Any], operation: Operation, arguments: Arrays) -> Arrays:
        made = self.given(arguments)
        upstream = made.pop(operation.upstream)
        leaves = {name: made[name].requires_grad_() for name in operation.differentiable if name in made}
        outputs = operation.call(fn, made)
        found = self.torch.autograd.grad(outputs[operation.result], list(leaves.values()), upstream,
                                         materialize_grads=True, allow_unused=True)
        return outputs | {f"d{name}": gradient for name, gradient in zip(leaves, found, strict=True)}


class Jax(Library):
    """Arrays of JAX, which nobody can change."""

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")

    def admit(self, dtype: np.dtype[Any]) -> None:
        if dtype == np.float64 and not self.jax.config.jax_enable_x64:
            raise ValueError("JAX makes float32 of float64 unless jax_enable_x64 is set")

    def array(self, array: np.ndarray[Any, Any]) -> Any:
        narrow = {"int64": np.int32, "float64": np.float32}
        if array.dtype.name in narrow and not self.jax.config.jax_enable_x64:
            array = array.astype(narrow[array.dtype.name])
        return self.jax.numpy.array(array)

    def taken(self, output: Any) -> Any:
        return np.asarray(output) if isinstance(output, self.jax.Array) else output

    def gradients(self, fn: Callable[..., Any], operation: Operation, arguments: Arrays) -> Arrays:
        made = self.given(arguments)
        upstream = made.pop(operation.upstream)
        leaves = {name: made.pop(name) for name in operation.differentiable if name in made}

        def outputs_of(leaves: Arrays) -> tuple[Any, Arrays]:
            outputs = operation.call(fn, leaves | made)
            return outputs[operation.result], outputs

        _, pull, outputs = self.jax.vjp(outputs_of, leaves, has_aux=True)
        (found,) = pull(upstream)
        return outputs | {f"d{name}": gradient for name, gradient in found.items()}


def as_float64(output: Any) -> np.ndarray[Any, Any]:
    """What a library's `taken` gave; DLPack's bfloat16 is none of NumPy's types, so torch widens its own."""
    return np.asarray(output.double() if hasattr(output, "double") else output, dtype=np.float64)


_LIBRARIES = {"numpy": Library, "torch": Torch, "jax": Jax}


def library(name: str) -> Library:
    if name not in _LIBRARIES:
        raise ValueError(f"arrays '{name}' is unknown; expected some of {', '.join(_LIBRARIES)}")
    return _LIBRARIES[name]()


def dtype(name: Any) -> np.dtype[Any]:
    """NumPy's, and ml_dtypes' bfloat16 by its name. Raises ValueError for another one."""
    if str(name) == "bfloat16":
        name = importlib.import_module("ml_dtypes").bfloat16
    found = np.dtype(name)
    if found.name not in ("float64", "float32", "float16", "bfloat16"):
        raise ValueError(f"dtype is {found.name}; expected float64, float32, float16 or bfloat16")
    return found
