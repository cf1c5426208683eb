"""Tokens of a capture as text: whole letters, though a tokenizer splits them into bytes."""

import pytest

pytest.importorskip("regex", reason="regex, which comes with transformers, is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers, which comes with transformers, is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from qkv._capture import _tokens  # noqa: E402

TEXT = "A ação da família 👨‍👩‍👧 e\u0302 bom 🎉.\n"


def byte_level(words=("A", " da", " bom"), end="<|end|>"):
    """GPT-2's kind of tokenizer with few merges: every other letter is a token a byte."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=270, special_tokens=[end], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(list(words) * 9, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end)


def encoded(tokenizer, text):
    found = tokenizer(text, return_offsets_mapping=True)
    return found["input_ids"], found["offset_mapping"]


def assert_whole(tokens, text):
    """That pieces are what the offsets say, cover the text in order, and no letter is broken."""
    assert tokens.text == text and len(tokens.ids) == len(tokens.pieces) == len(tokens.offsets)
    assert [text[begin:end] for begin, end in tokens.offsets] == tokens.pieces
    assert "\ufffd" not in "".join(tokens.pieces)
    merged = [piece for piece, before, now in zip(tokens.pieces, [None, *tokens.offsets], tokens.offsets)
              if before != now]
    assert "".join(merged) == text


@pytest.mark.parametrize("by", ["offsets", "ids"])
def test_bytes_of_one_letter_are_shown_as_the_letter(by):
    tokenizer = byte_level()
    ids, offsets = encoded(tokenizer, TEXT)
    assert len(ids) > len(TEXT)
    tokens = (_tokens.from_offsets(tokenizer, TEXT, ids, offsets) if by == "offsets"
              else _tokens.from_ids(tokenizer, ids))
    assert_whole(tokens, TEXT)
    assert tokens.pieces.count("ç") == 2 and tokens.pieces.count("ã") == 2  # two bytes each
    assert tokens.pieces.count("👨‍👩‍👧") == len("👨‍👩‍👧".encode())
    assert tokens.pieces.count("e\u0302") == 3  # a letter and its mark are one


def test_a_token_that_is_no_text_is_named():
    tokenizer = byte_level()
    end = tokenizer.eos_token_id
    tokens = _tokens.from_offsets(tokenizer, "A", [*tokenizer("A")["input_ids"], end], [(0, 1), (0, 0)])
    assert tokens.pieces == ["A", "<|end|>"] and tokens.offsets == [[0, 1], [0, 0]]


def test_bytes_that_never_become_a_letter_end_somewhere():
    tokenizer = byte_level()
    lone = tokenizer("ç")["input_ids"][:1]
    tokens = _tokens.from_ids(tokenizer, [*lone * 30, *tokenizer("A da")["input_ids"]])
    assert tokens.text.endswith("A da") and len(tokens.pieces) == len(tokens.ids)


def test_pieces_without_a_tokenizer_have_a_number_for_each_name():
    tokens = _tokens.from_pieces(["the", "cat", "the"])
    assert tokens.ids == [0, 1, 0] and tokens.text == "thecatthe" and tokens.offsets == [[0, 3], [3, 6], [6, 9]]
