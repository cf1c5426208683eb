"""The command qkv-capture: a model and a text become a file, and every mistake ends with 2 and what to do."""

import tomllib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import capture_models as models  # noqa: E402
import qkv  # noqa: E402
from qkv._capture import _command, _run  # noqa: E402
from test_capture_tokens import byte_level  # noqa: E402

TEXT = "A maçã da Lia é boa"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A GPT-2 of two layers with a tokenizer, as save_pretrained leaves them."""
    path = tmp_path_factory.mktemp("model")
    tokenizer = byte_level()
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=2, n_head=4,
                                     bos_token_id=0, eos_token_id=0)
    models.spread(transformers.GPT2LMHeadModel(config)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "out.safetensors"


def run(*arguments):
    try:
        return _command.main([str(one) for one in arguments])
    except SystemExit as ended:  # argparse
        return ended.code


def test_a_text_becomes_a_file_with_its_tokens(folder, file, capsys):
    assert run(folder, TEXT, "-o", file) == 0
    capture = qkv.open(file)
    assert [call.path for call in capture] == ["h.0.attn", "h.1.attn"]
    assert capture.tokens[0].text == TEXT and capture.tokens[0].pieces.count("ç") == 2
    assert capture.model["name"] == folder.name  # not where it lies
    out, err = capsys.readouterr()
    assert "2 attention calls" in out and f"qkv survey {file}" in out and err == ""


def test_texts_come_from_files_and_from_standard_input(folder, file, tmp_path, monkeypatch):
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    assert run(folder, f"@{tmp_path / 'text'}", "-o", file) == 0
    assert qkv.open(file).tokens[0].text == TEXT
    monkeypatch.setattr("sys.stdin", (tmp_path / "text").open(encoding="utf-8"))
    assert run(folder, "-", "-o", file, "--max-tokens", 3) == 0
    assert qkv.open(file)[0].Tk == 3


def test_options_pick_layers_heads_values_and_the_type(folder, file):
    assert run(folder, TEXT, "-o", file, "--layers", "1", "--heads", "0,2-3", "--no-values", "--dtype", "bfloat16") == 0
    (call,) = qkv.open(file)
    assert (call.layer, call.heads, call.values, call.dtype) == (1, [0, 2, 3], False, "bf16")


def test_an_encoder_decoder_begins_its_decoder_by_itself(tmp_path, file):
    tokenizer, path = byte_level(), tmp_path / "t5"
    model = models.t5()
    model.config.vocab_size = len(tokenizer)
    models.of(model.config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    assert run(path, TEXT, "-o", file) == 0
    assert [call.Tq for call in qkv.open(file).layer(0)].count(1) == 2  # the decoder's own and its cross-attention


@pytest.mark.parametrize("arguments, words", [
    (["-o", "{file}", "--device", "cuda"], "runs on the CPU"),
    (["-o", "{file}", "--max-tokens", "0"], "--max-tokens is 0; expected 1 or more"),
    (["-o", "{file}", "--layers", "9"], "none of the model's 2 attention calls was picked"),
    (["-o", "{file}", "--heads", "9"], "has heads 0 to 3; heads=[9] asks for 9"),
    (["-o", "{file}", "--heads", "x"], "'x' is no number"),
    (["-o", "{file}", "--dtype", "int8"], "invalid choice"),
    (["-o", "{file}/no/where"], "cannot write"),
    ([], "required: -o"),
])
def test_mistakes_end_with_2_and_say_what_to_do(arguments, words, folder, file, capsys):
    assert run(folder, TEXT, *(one.replace("{file}", str(file)) for one in arguments)) == 2
    assert words in capsys.readouterr().err and not file.exists()


@pytest.mark.parametrize("text, words", [
    ("", "TEXT is empty"), ("@/no/such/file", "cannot read /no/such/file: No such file"),
    ("A" * 65, "TEXT has 65 tokens and the model reads 64: add --max-tokens 64"),
])
def test_texts_that_cannot_be_read(text, words, folder, file, capsys):
    assert run(folder, text, "-o", file) == 2
    assert words in capsys.readouterr().err and not file.exists()


def test_a_model_that_is_not_there(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert run("nobody/nothing", TEXT, "-o", file) == 2
    assert "no folder here" in (err := capsys.readouterr().err) and "HF_HUB_OFFLINE" in err
    assert run(tmp_path, TEXT, "-o", file) == 2
    assert "the folder needs config.json" in capsys.readouterr().err


def test_a_models_own_code_is_never_run(folder, file, tmp_path, capsys):
    own = tmp_path / "own"
    own.mkdir()
    for path in folder.iterdir():
        (own / path.name).write_bytes(path.read_bytes())
    config = (own / "config.json").read_text().replace(
        '"model_type": "gpt2"', '"model_type": "mine", "auto_map": {"AutoConfig": "mine.C", "AutoModel": "mine.M"}')
    (own / "config.json").write_text(config)
    (own / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert run(own, TEXT, "-o", file) == 2
    assert "code of its own, which this command never runs" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_ctrl_c_ends_with_130_and_no_file(folder, file, monkeypatch, capsys):
    def interrupted(model, inputs):
        model(**inputs)
        raise KeyboardInterrupt

    monkeypatch.setattr(_run, "run", interrupted)
    assert run(folder, TEXT, "-o", file) == 130
    assert "nothing was written" in capsys.readouterr().err and list(file.parent.iterdir()) == []


def test_help_warns_that_the_file_can_reveal_the_text(capsys):
    assert run("--help") == 0
    assert "The file can reveal TEXT" in (out := capsys.readouterr().out) and "exit status: 0" in out


def test_the_package_installs_the_command():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["qkv-capture"] == f"{_command.__name__}:{_command.main.__name__}"
