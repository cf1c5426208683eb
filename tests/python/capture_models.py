"""Small models whose attention has each a term of its own; weights are wide enough that leaving one out shows."""

import numpy as np
import qkv
import torch
import transformers
from torch import nn

VOCABULARY = 64


def spread(model, seed=3, width=0.25):
    """Weights with scores of a few units, so that rows differ and terms matter."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 or "sinks" in name:
                parameter.normal_(std=width if parameter.ndim > 1 else 1.0)
    return model.eval()


def ids(tokens=24, batch=1, seed=5):
    return torch.randint(3, VOCABULARY, (batch, tokens), generator=torch.Generator().manual_seed(seed))


def of(config, **options):
    return spread(transformers.AutoModel.from_config(config, **options))


SMALL = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
         "num_attention_heads": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def gpt2(**options):
    return of(transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=128, n_embd=32, n_layer=2, n_head=4,
                                      bos_token_id=1, eos_token_id=2), **options)


def llama(**options):
    return of(transformers.LlamaConfig(**SMALL, num_key_value_heads=2), **options)


def mistral(window=8, **options):
    return of(transformers.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=window), **options)


def bert(**options):
    return of(transformers.BertConfig(**SMALL), **options)


def gemma2(**options):
    return of(transformers.Gemma2Config(**SMALL, num_key_value_heads=2, head_dim=8, sliding_window=8,
                                        attn_logit_softcapping=2.0, query_pre_attn_scalar=4), **options)


def gpt_oss(**options):
    return of(transformers.GptOssConfig(**SMALL, num_key_value_heads=2, head_dim=8, num_local_experts=2,
                                        num_experts_per_tok=1, sliding_window=8), **options)


def t5(**options):
    return of(transformers.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4,
                                    decoder_start_token_id=0, pad_token_id=0, eos_token_id=2), **options)


def bart(**options):
    return of(transformers.BartConfig(vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2,
                                      encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32,
                                      decoder_ffn_dim=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                      decoder_start_token_id=2), **options)


class Plain(nn.Module):
    """A block written by hand around PyTorch's function; `given` are its other arguments, `arrange` makes q, k, v."""

    def __init__(self, heads=4, width=32, kv_heads=None, arrange=None, **given):
        super().__init__()
        self.heads, self.kv_heads, self.arrange, self.given = heads, kv_heads or heads, arrange, given
        size = width // heads
        self.q, self.k, self.v = (nn.Linear(width, n * size) for n in (heads, self.kv_heads, self.kv_heads))

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        q, k, v = (project(y).unflatten(-1, (n, -1)).transpose(1, 2) for project, y, n in (
            (self.q, x, self.heads), (self.k, memory, self.kv_heads), (self.v, memory, self.kv_heads)))
        if self.arrange is not None:
            q, k, v = self.arrange(q, k, v)
        o = nn.functional.scaled_dot_product_attention(q, k, v, **self.given)
        return o if o.ndim == 2 else o.transpose(-2, -3).flatten(-2)


def plain(**options):
    return spread(Plain(**options))


def states(tokens=12, batch=1, width=32, seed=9):
    return torch.randn(batch, tokens, width, generator=torch.Generator().manual_seed(seed))


def recomputed(call):
    """o of the call's rows by qkv.attention on what the file holds."""
    o = qkv.attention(call.q, call.k, call.v, **call.options)
    return np.asarray(o, np.float64)[:, :, call.rows]


def off(call):
    return np.abs(recomputed(call) - np.asarray(call.o, np.float64)).max()
