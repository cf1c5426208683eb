"""qkv.capture's traps: each is a field of the file or a refusal that says why, and nothing is written after one."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import capture_models as models  # noqa: E402
import qkv  # noqa: E402
from qkv._capture import _watch  # noqa: E402
from qkv._capture._terms import Masks, compact  # noqa: E402
from torch import nn  # noqa: E402


@pytest.fixture
def file(tmp_path):
    return tmp_path / "capture.safetensors"


def captured(model, file, *inputs, **options):
    with torch.no_grad(), qkv.capture(model, file, **options) as recording:
        model(*inputs)
    return recording.capture


def assert_refused(model, file, *inputs, match, **options):
    """That capturing is refused with words that match, and that no file, finished or not, is left."""
    with torch.no_grad(), pytest.raises(qkv.CaptureError, match=match):
        with qkv.capture(model, file, **options):
            model(*inputs)
    assert os.listdir(file.parent) == []


# What cannot be seen.


class ByHand(nn.Module):
    def forward(self, x):
        return torch.softmax(x @ x.transpose(1, 2), -1) @ x


def test_nothing_captured_is_an_error_that_says_what_is_seen(file):
    assert_refused(ByHand(), file, models.states(), match="nothing was captured.*scaled_dot_product_attention.*eagerly")


def test_a_model_that_was_never_called_is_an_error(file):
    with pytest.raises(qkv.CaptureError, match="was it called inside the block"):
        with qkv.capture(models.plain(), file):
            pass


def test_an_attention_outside_the_model_is_not_recorded(file):
    model, other = models.plain(), models.gpt2()
    q = torch.randn(1, 2, 4, 8)
    with torch.no_grad(), qkv.capture(model, file) as recording:
        nn.functional.scaled_dot_product_attention(q, q, q)
        other(input_ids=models.ids())
        model(models.states())
    assert [call.way for call in recording.capture] == ["sdpa"]


def test_another_thread_with_another_model_is_not_recorded(file):
    model = models.plain()
    with torch.no_grad(), qkv.capture(model, file) as recording:
        thread = threading.Thread(target=lambda: models.gpt2()(input_ids=models.ids()))
        thread.start()
        model(models.states())
        thread.join()
    assert len(recording.capture) == 1


def test_a_compiled_model_runs_eagerly_and_is_captured(file):
    model = models.plain()
    with torch.no_grad():
        capture = captured(torch.compile(model), file, models.states())
    assert len(capture) == 1 and capture[0].path == ""


def test_a_model_compiled_by_torchscript_is_refused(file):
    traced = torch.jit.trace(models.plain(), models.states())
    assert_refused(traced, file, models.states(), match="TorchScript.*from before torch.jit")


class WithWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.pool = models.plain(), nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        x = self.first(x)
        return self.pool(x, x, x)[0]


def test_multihead_attention_that_is_asked_for_weights_is_not_passed_over_in_silence(file):
    with pytest.warns(UserWarning, match="not captured: pool is called with need_weights=True"):
        assert len(captured(WithWeights().eval(), file, models.states())) == 1
    file.unlink()
    only = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    x = models.states()
    assert_refused(only, file, x, x, x, match="nothing was captured.*need_weights=False")


def test_an_attention_implementation_with_masks_of_its_own_is_refused(file, monkeypatch):
    transformers.AttentionInterface.register("mine", transformers.integrations.sdpa_attention.sdpa_attention_forward)
    model = models.gpt2(attn_implementation="mine")
    with pytest.raises(qkv.CaptureError, match=r"attention 0 \(h.0.attn\).*'mine'.*attn_implementation='sdpa'"):
        qkv.capture(model, file, inputs={"input_ids": models.ids()})


def test_the_function_is_seen_by_whatever_name_it_was_imported(file):
    by_name = nn.functional.scaled_dot_product_attention

    class Imported(nn.Module):
        def forward(self, x):
            return by_name(x, x, x)

    assert len(captured(Imported(), file, models.states())) == 1


# What a call means.


def test_is_causal_counts_from_the_top_left_whatever_the_lengths(file):
    capture = captured(models.plain(is_causal=True), file, models.states(5), models.states(9, seed=1))
    assert (capture[0].corner, capture[0].offset, capture[0].Tk) == ("top_left", 0, 9)
    assert models.off(capture[0]) < 1e-6


def test_a_scale_of_its_own(file):
    assert captured(models.plain(scale=0.7), file, models.states())[0].options["scale"] == 0.7


def test_a_boolean_mask_keeps_and_a_floating_one_adds(file):
    keep = torch.rand(12, 12, generator=torch.Generator().manual_seed(1)) > 0.3
    keep[:, 0] = True
    call = captured(models.plain(attn_mask=keep), file, models.states())[0]
    assert call.mask == "dense" and np.array_equal(call.options["keep"][0, 0], keep)
    added = torch.randn(4, 12, 12, generator=torch.Generator().manual_seed(1))
    call = captured(models.plain(attn_mask=added), file, models.states())[0]
    assert np.array_equal(call.options["bias"][0], added) and models.off(call) < 1e-5


def repeated(count):
    return lambda q, k, v: (q, k.repeat_interleave(count, 1), v.repeat_interleave(count, 1))


def test_heads_that_the_model_repeats_are_stored_once(file):
    call = captured(models.plain(kv_heads=2, arrange=repeated(2)), file, models.states())[0]
    assert (call.Hq, call.Hkv, call.k.shape, call.v.shape) == (4, 2, (1, 2, 12, 8), (1, 2, 12, 8))
    one = captured(models.plain(kv_heads=1, arrange=repeated(4)), file, models.states())[0]
    assert one.Hkv == 1 and models.off(one) < 1e-6


def test_enable_gqa_gives_grouped_heads_as_they_are(file):
    call = captured(models.plain(kv_heads=2, enable_gqa=True), file, models.states())[0]
    assert (call.Hq, call.Hkv) == (4, 2) and models.off(call) < 1e-6


@pytest.mark.parametrize("arrange", [
    lambda q, k, v: (q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)),  # h % Hkv
    lambda q, k, v: (q, k.repeat_interleave(2, 1), torch.cat((v, v + 1), 1)),  # the same keys, other values
])
def test_heads_that_are_not_equal_in_consecutive_groups_are_all_stored(arrange, file):
    call = captured(models.plain(kv_heads=2, arrange=arrange), file, models.states())[0]
    assert call.Hkv == 4 and models.off(call) < 1e-5


@pytest.mark.parametrize("axes", [2, 3, 5])
def test_other_ranks_of_pytorchs_function(axes, file):
    def arrange(q, k, v):
        return (x[0, 0] if axes == 2 else x[0] if axes == 3 else x[:, None] for x in (q, k, v))

    call = captured(models.plain(arrange=arrange), file, models.states())[0]
    assert call.q.shape == (1, 1 if axes == 2 else 4, 12, 8) and models.off(call) < 1e-5


def test_dropout_is_refused(file):
    assert_refused(models.plain(dropout_p=0.1), file, models.states(), match=r"dropout 0.1.*model.eval\(\)")
    with pytest.raises(qkv.CaptureError, match=r"dropout 0.1.*model.eval\(\)"):
        qkv.capture(models.gpt2().train(), file, inputs={"input_ids": models.ids()})


def test_a_mask_without_a_compact_form_is_refused_above_the_stated_size(file):
    mask = torch.randn(4, 40, 40)
    assert_refused(models.plain(attn_mask=mask), file, models.states(40), match=r"\[1, 4, 40, 40\].*mask_bytes=25600",
                   mask_bytes=25599)
    assert len(captured(models.plain(attn_mask=mask), file, models.states(40), mask_bytes=25600)) == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_tensors_have_the_models_own_type_bit_for_bit(dtype, file):
    seen = {}

    def arrange(q, k, v):
        seen.update(q=q, k=k, v=v)
        return q, k, v

    call = captured(models.plain(arrange=arrange).to(dtype), file, models.states().to(dtype))[0]
    for name, tensor in seen.items():
        assert getattr(call, name).tobytes() == tensor.contiguous().view(torch.uint8).numpy().tobytes(), name


def test_under_autocast_the_tensors_are_those_that_are_multiplied(file):
    with torch.autocast("cpu", torch.bfloat16):
        call = captured(models.plain(), file, models.states())[0]
    assert call.dtype == "bf16"


# The self-check names the term that a capture lacks.

HIDDEN = {
    "softcap": (models.gemma2, lambda options: options.pop("softcap"), "with a softcap of 2.0"),
    "sinks": (models.gpt_oss, lambda options: options.pop("sinks"), "with the sinks of its module"),
    "window": (models.mistral, lambda options: options.update(keep=models_causal()), "with a window of 8 keys"),
    "causal": (models.gpt2, lambda options: (options.pop("causal"), options.pop("corner")), "causal with the corner"),
    "scale": (models.gpt2, lambda options: options.update(scale=1.0), "with the scale 1/√D instead of 1"),
    "padding": (models.bert, lambda options: options.update(keep=models_first()), "without the padding mask"),
}


def models_causal():
    return torch.ones(24, 24, dtype=torch.bool).tril()[None, None]


def models_first():
    return (torch.arange(24) < 20)[None, None, None]


@pytest.mark.parametrize("name", HIDDEN)
def test_a_term_that_the_call_does_not_tell_is_named(name, file, monkeypatch):
    make, hide, words = HIDDEN[name]
    read = _watch._hugging_face.read

    def forgetful(*given):
        call = read(*given)
        hide(call.options)
        return call

    monkeypatch.setattr(_watch._hugging_face, "read", forgetful)
    with pytest.raises(qkv.CaptureError, match=f"(?s)attention .*is allowed .float32.: it is the same .*{words}"):
        qkv.capture(make(), file, inputs={"input_ids": models.ids()})
    assert os.listdir(file.parent) == []


def test_an_attention_that_computes_something_else_is_refused(file, monkeypatch):
    original = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", lambda *a, **b: original(*a, **b).sin())
    assert_refused(models.plain(), file, models.states(), match="no single term that is known explains it")


@pytest.mark.parametrize("name", "qkv")
def test_a_nan_of_the_model_is_no_agreement(name, file):
    def arrange(**tensors):
        tensors[name] = tensors[name] * float("nan")
        return tensors.values()

    model = models.plain(arrange=lambda q, k, v: arrange(q=q, k=k, v=v))
    assert_refused(model, file, models.states(), match="NaN or Inf")


# What is picked, and what is left out.


def test_layers_by_number_and_by_pattern(file):
    inputs = {"input_ids": models.ids()}
    only = qkv.capture(models.gpt2(), file, inputs=inputs, layers=[1])
    assert [(call.layer, call.order, call.name) for call in only] == [(1, 1, "C0001")]
    by_path = qkv.capture(models.t5(), file, inputs=inputs, layers=["decoder.*", "encoder.block.1.*"])
    assert [call.order for call in by_path] == [1, 2, 3, 4, 5]
    with pytest.raises(qkv.CaptureError, match=r"none of the model's 2 attention calls was picked: layers=\[7\]"):
        qkv.capture(models.gpt2(), file, inputs=inputs, layers=[7])


def test_heads_are_picked_with_the_kv_heads_that_they_read(file):
    inputs = {"input_ids": models.ids()}
    whole = qkv.capture(models.llama(), file, inputs=inputs)[0]
    few = qkv.capture(models.llama(), file.with_name("few.safetensors"), inputs=inputs, heads=[3, 0, 1])[0]
    assert few.heads == [0, 1, 3] and few._record.kv_heads == [0, 1] and few.q.shape[1] == 3
    assert np.array_equal(few.q, whole.q[:, [0, 1, 3]]) and models.off(few) < 1e-6
    assert np.array_equal(few.weights(3), whole.weights(3)) and np.array_equal(few.k[:, 2], whole.k[:, 1])
    second = qkv.capture(models.llama(), file, inputs=inputs, heads=[2])[0]
    assert second._record.kv_heads == [1] and np.array_equal(second.weights(2, 5), few.weights(3, 5)) is False
    with pytest.raises(qkv.CaptureError, match=r"has heads 0 to 3; heads=\[4\] asks for 4"):
        qkv.capture(models.llama(), file, inputs=inputs, heads=[4])


def test_without_values_there_is_no_v_and_no_o_and_the_check_was_made_all_the_same(file):
    call = qkv.capture(models.llama(), file, inputs={"input_ids": models.ids()}, values=False)[0]
    assert call.o is None and call.rows is None and 0 < call.error.max < call.error.allowed
    assert call.weights(1).sum(-1) == pytest.approx(np.ones(24))
    with pytest.raises(qkv.CaptureError, match="values=False"):
        _ = call.v
    from safetensors import safe_open

    with safe_open(file, "np") as stored:
        assert {name.split(".")[1] for name in stored.keys()} == {"q", "k"}


# How it is used.


def test_text_inputs_and_tokens_say_the_same_thing_once(file):
    model = models.gpt2()
    with pytest.raises(ValueError, match="text needs the model's tokenizer"):
        qkv.capture(model, file, text="The cat")
    with pytest.raises(ValueError, match="they say the same twice"):
        qkv.capture(model, file, text="The cat", tokenizer=object(), inputs={})
    with pytest.raises(TypeError, match="model is a function; expected a torch.nn.Module"):
        qkv.capture(lambda x: x, file)


def test_without_a_path_the_file_goes_with_its_capture():
    capture = qkv.capture(models.gpt2(), inputs={"input_ids": models.ids()})
    path = capture.path
    assert path.exists() and capture[0].q.shape == (1, 4, 24, 8)
    q = capture[0].q
    del capture
    assert not path.exists() and np.isfinite(q).all()


def test_calls_of_other_texts_have_no_tokens(file):
    model = models.gpt2()
    with torch.no_grad(), qkv.capture(model, file, tokens=[str(i) for i in range(24)]) as recording:
        model(input_ids=models.ids())
        model(input_ids=models.ids(seed=6))
    assert [call.tokens is not None for call in recording.capture] == [True, True, False, False]


def test_names_of_tokens_that_no_call_has_are_refused(file):
    for count in (23, 25):
        names = [str(i) for i in range(count)]
        if count == 25:  # more than were read so far are those of later steps
            assert qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()}, tokens=names)[0].tokens
            continue
        with pytest.raises(qkv.CaptureError, match=r"1 sequences of 23 tokens, and no call has those: .*\(1, 24\)"):
            qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()}, tokens=names)


def test_in_inference_mode_a_mask_has_no_version(file):
    model = models.gpt2(attn_implementation="eager")
    with torch.inference_mode(), qkv.capture(model, file) as recording:
        model(input_ids=models.ids())
    assert [call.mask for call in recording.capture] == ["causal", "causal"]


def test_a_recording_is_for_one_block(file):
    recording = qkv.capture(models.plain(), file)
    assert "records inside `with`" in repr(recording)
    with torch.no_grad(), recording:
        recording.model(models.states())
    assert "done: <qkv.Capture" in repr(recording)
    with pytest.raises(qkv.CaptureError, match="one `with` block"):
        with recording:
            pass


def test_everything_is_as_before_after_a_block_and_after_an_error(file):
    model = models.gpt2()
    before = (nn.functional.scaled_dot_product_attention, transformers.AttentionInterface.get_interface,
              model.config._attn_implementation)
    for fails in (False, True):
        try:
            with torch.no_grad(), qkv.capture(model, file):
                model(input_ids=models.ids())
                assert nn.functional.scaled_dot_product_attention is not before[0]
                if fails:
                    raise RuntimeError("mine")
        except RuntimeError as error:
            assert str(error) == "mine"
        assert before == (nn.functional.scaled_dot_product_attention, transformers.AttentionInterface.get_interface,
                          model.config._attn_implementation)
        assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_an_error_keeps_the_file_that_was_there(file):
    qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()})
    before = file.read_bytes()
    with pytest.raises(qkv.CaptureError, match="asks for 9"):
        qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()}, heads=[9])
    assert file.read_bytes() == before and os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("place, reason", [("missing/x.safetensors", "there is no folder"), (".", "no regular file")])
def test_a_path_that_cannot_be_written_is_told_before_the_model_runs(place, reason, tmp_path):
    with pytest.raises(qkv.CaptureError, match=f"cannot write .*{reason}"):
        with qkv.capture(models.plain(), tmp_path / place):
            raise AssertionError("ran")


def test_the_file_has_the_permissions_of_any_new_file_and_links_stay_links(file):
    target = file.with_name("target.safetensors")
    file.symlink_to(target)
    qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()})
    mask = os.umask(0)
    os.umask(mask)
    assert file.is_symlink() and target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_progress_is_told_call_by_call(file):
    told = []
    qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()}, progress=told.append)
    assert [(one.path, one.error.max < one.error.allowed) for one in told] == [("h.0.attn", True), ("h.1.attn", True)]


def test_gradients_flow_through_a_model_that_is_captured(file):
    model = models.plain()
    x = models.states().requires_grad_()
    with qkv.capture(model, file):
        model(x).sum().backward()
    assert x.grad.abs().sum() > 0


def test_qkv_torch_use_and_capture_go_together(file):
    import qkv.torch

    model = models.gpt2()
    with torch.no_grad(), qkv.torch.use() as usage, qkv.capture(model, file):
        model(input_ids=models.ids())
    assert usage.calls == 2
    file.unlink()
    with torch.no_grad(), pytest.raises(qkv.CaptureError, match=r"qkv.torch.use\(\) .*enter it before"):
        with qkv.capture(model, file), qkv.torch.use():
            model(input_ids=models.ids())


def test_importing_qkv_does_not_import_torch():
    subprocess.run([sys.executable, "-c", "import qkv, sys; assert 'torch' not in sys.modules"], check=True)


LONG = """
import resource, sys
import torch, qkv
sys.path.insert(0, sys.argv[2])
import capture_models as models
class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(models.plain(is_causal=True, heads=2, width=64) for _ in range(4))
    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x) / 8
        return x
model, x = Layers(), models.states(8192, width=64)
with torch.no_grad():
    model(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with qkv.capture(model, sys.argv[1]) as recording:
        model(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_long_capture_holds_nothing_of_size_n_squared(file):
    folder = os.path.dirname(__file__)
    run = subprocess.run([sys.executable, "-c", LONG, str(file), folder], capture_output=True, text=True, check=True)
    kib = int(run.stdout)
    map_kib = 8192 * 8192 * 4 / 1024
    assert kib < map_kib / 4, f"{kib / 1024:.0f} MiB more than without; one map of one head is {map_kib / 1024:.0f} MiB"


def test_a_long_window_mask_becomes_two_numbers():
    inside = torch.ones(6000, 6000, dtype=torch.bool).tril().triu(-100)[None, None]
    q = torch.zeros(1, 1, 6000, 1)
    terms = compact(q, q, {"keep": inside}, (inside,), Masks(0), None)  # 0 bytes of it may be kept
    assert terms.kinds == "causal+window" and terms.window == (100, 0)


INTERRUPTED = """
import os, signal, sys
import torch, qkv
sys.path.insert(0, sys.argv[2])
import capture_models as models
def stop(record):
    os.kill(os.getpid(), signal.SIGINT)
qkv.capture(models.gpt2(), sys.argv[1], inputs={"input_ids": models.ids()}, progress=stop)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_leaves_nothing_half_written(number, file):
    code = INTERRUPTED.replace("signal.SIGINT", f"signal.{number.name}")
    run = subprocess.run([sys.executable, "-c", code, str(file), os.path.dirname(__file__)], capture_output=True,
                         text=True, check=False)
    assert run.returncode == -number and os.listdir(file.parent) == []


def test_a_full_disk_is_told_and_leaves_nothing(file, monkeypatch):
    def full(source, target, *_):
        target.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(qkv.CaptureError, match="cannot write .*: No space left on device"):
        qkv.capture(models.gpt2(), file, inputs={"input_ids": models.ids()})
    assert os.listdir(file.parent) == []


def test_no_warning_is_given_where_nothing_is_missed(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured(models.plain(), file, models.states())
