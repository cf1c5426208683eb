"""What a call of Hugging Face's AttentionInterface means, as options of `qkv.attention`.

A model of transformers calls `interface(module, query, key, value, attention_mask, **given)` with query [B,Hq,Tq,D],
key and value [B,Hkv,Tk,D] before they are repeated, and expects ([B,Tq,Hq,Dv], weights or None). `read` says what that
call computes where the model runs "eager" or "sdpa", the two whose meaning is written down in transformers:

    call = read("sdpa", module, query, key, attention_mask, given)
    o = qkv.torch.attention(query, key, value, **call.options)

It raises Unreadable, with the reason, for a call that has a term which qkv lacks or does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

# Implementations that are read, by the name in a model's config. Others have masks of their own kinds.
IMPLEMENTATIONS = ("eager", "sdpa")


class Unreadable(ValueError):
    """The call has a term that qkv lacks or does not know; the message names it."""


@dataclass(frozen=True)
class Call:
    """A call's terms. `options` are arguments of qkv.torch.attention; the mask in them is the model's own, not copied.

    sliding_window is what the model said of itself and is no option: "eager" and "sdpa" take the window from the mask,
    and where the mask is None every key is inside it.
    """

    options: dict[str, Any] = field(default_factory=dict)
    dropout: float = 0.0
    sliding_window: int | None = None


def read(
    implementation: str,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    attention_mask: Tensor | None,
    given: Mapping[str, Any],
) -> Call:
    """The terms of a call; `given` are its keyword arguments.

    scaling       scale; 1/sqrt(D) if absent
    softcap       softcap
    s_aux         sinks [Hq] (gpt-oss)
    position_bias bias (T5), added to a floating mask
    attention_mask    boolean: keep; floating: bias. None: nothing is hidden, but "sdpa" then means causal with the
                  corner at the top left for more than one query, if is_causal (the argument or the module's) says so
    Keyword arguments that neither "eager" nor "sdpa" look at are not looked at here.
    """
    if implementation not in IMPLEMENTATIONS:
        known = " and ".join(IMPLEMENTATIONS)
        raise Unreadable(f"attn_implementation is '{implementation}'; qkv stands in for {known}")
    options: dict[str, Any] = {"scale": given.get("scaling"), "softcap": given.get("softcap")}
    options["sinks"] = _sinks(module, query.shape[1], given.get("s_aux"))
    bias = given.get("position_bias")
    if attention_mask is None:
        if implementation == "sdpa" and query.shape[2] > 1 and _is_causal(module, given.get("is_causal")):
            options |= {"causal": True, "corner": "top_left"}
    elif not isinstance(attention_mask, Tensor):
        raise Unreadable(f"the mask is a {type(attention_mask).__name__}; expected a tensor")
    elif attention_mask.is_floating_point():
        bias = attention_mask if bias is None else bias + attention_mask
    else:
        options["keep"] = attention_mask.bool()
    if bias is not None:
        options["bias"] = bias
    return Call({name: value for name, value in options.items() if value is not None},
                dropout=given.get("dropout") or 0.0, sliding_window=given.get("sliding_window"))


def wants_weights(module: nn.Module, given: Mapping[str, Any]) -> bool:
    """Whether the model was asked for output_attentions: the argument, else its config."""
    return bool(given.get("output_attentions", getattr(getattr(module, "config", None), "output_attentions", False)))


def _sinks(module: nn.Module, heads: int, given: Tensor | None) -> Tensor | None:
    if given is None:
        if getattr(module, "sinks", None) is not None:
            raise Unreadable(f"{type(module).__name__} has sinks and does not pass them as s_aux")
        return None
    if given.numel() != heads:
        raise Unreadable(f"s_aux is {list(given.shape)}; expected a number for each of {heads} heads")
    return given.reshape(-1)


def _is_causal(module: nn.Module, given: bool | None) -> bool:
    return bool(getattr(module, "is_causal", True) if given is None else given)
