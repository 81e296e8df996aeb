"""ABC notation: pitches, lengths, repeats, and a sentence for each thing that is wrong."""

from __future__ import annotations

import pytest

from regard.systems.melodies.abc import parse, tunes
from regard.systems.melodies.keys import signature

HEADER = "M:4/4\nL:1/4\nK:C\n"


def pitches(music: str, header: str = HEADER) -> list[int | None]:
    tune = parse(header + music)
    assert not tune.errors
    return [note.pitch for note in tune.notes]


def beats(music: str, header: str = HEADER) -> list[float]:
    tune = parse(header + music)
    assert not tune.errors
    return [note.beats for note in tune.notes]


def test_letters_octaves_and_rests_are_pitches() -> None:
    assert pitches("C,, B, C | B c b | c' z x") == [36, 59, 60, 71, 72, 83, 84, None, None]


@pytest.mark.parametrize(
    ("key", "raised"),
    [
        ("C", {}),
        ("D", {"F": 1, "C": 1}),
        ("Bb", {"B": -1, "E": -1}),
        ("F#m", {"F": 1, "C": 1, "G": 1}),
        ("Gm", {"B": -1, "E": -1}),
        ("D dorian", {}),
        ("Amix", {"F": 1, "C": 1}),
        ("Eb major", {"B": -1, "E": -1, "A": -1}),
        ("Cb", dict.fromkeys("BEADGCF", -1)),
    ],
)
def test_a_key_raises_and_lowers_letters(key: str, raised: dict[str, int]) -> None:
    assert signature(key) == raised


def test_an_accidental_holds_until_the_bar_ends() -> None:
    assert pitches("F ^F f _B | F B", "M:4/4\nL:1/4\nK:G\n") == [66, 66, 78, 70, 66, 71]
    assert pitches("F =F F2 | ^^F __B2 F", "M:4/4\nL:1/4\nK:G\n") == [66, 65, 65, 67, 69, 67]


def test_lengths_are_multiples_and_fractions() -> None:
    assert beats("C3 C/2 C/ C// C3/2 C/4") == [3, 0.5, 0.5, 0.25, 1.5, 0.25]


@pytest.mark.parametrize(("metre", "length"), [("6/8", 0.5), ("3/4", 0.5), ("2/4", 0.25), ("C", 0.5), ("C|", 0.5)])
def test_the_metre_gives_notes_their_length(metre: str, length: float) -> None:
    assert beats("C", f"M:{metre}\nK:C\n") == [length]


def test_dotted_rhythms_tuplets_and_ties() -> None:
    assert beats("C>D E<F C>>D") == [1.5, 0.5, 0.5, 1.5, 1.75, 0.25]
    assert beats("(3CDE F") == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1])
    assert beats("(3:2:2C2D E") == pytest.approx([4 / 3, 2 / 3, 1])
    assert beats("C4-|C2 D2-|E4") == [6, 2, 4]
    assert beats("C4-| | |C2") == [6]
    assert pitches("[CEG]2 [c a]2") == [67, 81]


def test_what_is_no_note_is_read_over() -> None:
    assert pitches('"Am"C {cd}D (E F) ~G !trill!A .B % c') == [60, 62, 64, 65, 67, 69, 71]
    assert pitches("P:A\nC\nK:D\nF [K:C] F", HEADER) == [60, 66, 65]


@pytest.mark.parametrize(
    ("music", "played"),
    [
        ("|:CD:|E", "CDCDE"),
        ("CD:|E", "CDCDE"),
        ("|:C:||:D:|", "CCDD"),
        ("|:C::D:|", "CCDD"),
        ("|:C|1D:|2E||F", "CDCEF"),
        ("|:C [1D:| [2E:|F:|", "CDCEFF"),
        ("C||D:|", "CDD"),
        ("|:C||D:|", "CDCD"),
        ("|:C|D|]", "CD"),
    ],
)
def test_repeats_are_written_out(music: str, played: str) -> None:
    assert pitches(music) == [60 + {"C": 0, "D": 2, "E": 4, "F": 5}[letter] for letter in played]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("K:C\nCHD", "line 2, column 2: 'H'"),
        ('K:C\nC"Am D', "line 2, column 2: '\"'"),
        ("K:C\n|6:|", "line 2, column 2: '6'"),
        ("K:C\nC0", "line 2, column 1: '0'"),
        ("K:C\nC/0", "line 2, column 1: '/0'"),
        ("K:C\nC99", "'99' is not a length"),
        ("K:C\n>C", "line 2, column 1: >"),
        ("K:C\n(1C", "(1 is not a tuplet"),
        ("K:C\nCC:D", "':' alone"),
        ("K:C\nc'''''''", "outside of the pitches"),
        ("K:H\nC", "'H' is not a key"),
        ("K:G#\nC", "'G#' has 8 accidentals"),
        ("M:4\nK:C\nC", "M:4 is not a metre"),
        ("M:4/0\nK:C\nC", "M:4/0 is not a metre"),
        ("L:4\nK:C\nC", "L:4 is not a length"),
        ("M:4/4\nCD", "there is no key"),
        ("K:C\nz4", "there is no note"),
        ("", "there is no key"),
    ],
)
def test_each_error_is_a_sentence_with_its_place(text: str, error: str) -> None:
    tune = parse(text)
    assert error in tune.errors[0]
    assert tune.errors[0].count("\n") == 0


def test_bars_of_another_length_are_remarks() -> None:
    assert parse("M:3/4\nL:1/4\nK:C\nC|CDE|CD:|C|CDE|CD|]").remarks == ()  # upbeats and what is left for them
    (short,) = parse("M:3/4\nL:1/4\nK:C\nCDE|CD|CDE|").remarks
    assert "line 4, column 7" in short
    assert "1/2" in short
    assert "5/4" in parse("M:1/1\nL:1/4\nK:C\nCDEFG|").remarks[0]
    assert "|:" in parse("M:1/4\nL:1/4\nK:C\n|:C|").remarks[0]
    assert "lacks 1" in parse("M:none\nL:1/4\nK:C\n(3CD|").remarks[0]


def test_tempo_and_title_are_fields() -> None:
    tune = parse("T:The Clock\nT:Second\nM:6/8\nQ:3/8=60\nK:C\nC")
    assert (tune.title, tune.tempo) == ("The Clock", 90.0)
    assert parse("M:6/8\nK:C\nC").tempo == 180.0
    assert parse("Q:100\nK:C\nC").tempo == 100.0
    assert "Q:fast" in parse("Q:fast\nK:C\nC").remarks[0]


def test_a_file_has_many_tunes() -> None:
    found = list(tunes("X:1\nK:C\nC\n\nX:2\nK:D\nD\n"))
    assert [line for line, _ in found] == [1, 5]
    assert [parse(text).key for _, text in found] == ["C", "D"]
