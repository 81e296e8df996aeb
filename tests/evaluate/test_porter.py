"""The Porter stemmer on the examples of its paper."""

from __future__ import annotations

import pytest

from regard.evaluate import porter_stem

PAIRS = """
caresses caress; ponies poni; ties ti; caress caress; cats cat; feed feed; agreed agre; plastered plaster; bled bled;
motoring motor; sing sing; conflated conflat; troubled troubl; sized size; hopping hop; tanned tan; falling fall;
hissing hiss; fizzed fizz; failing fail; filing file; happy happi; sky sky; relational relat; conditional condit;
rational ration; valenci valenc; hesitanci hesit; digitizer digit; conformabli conform; radicalli radic;
differentli differ; vileli vile; analogousli analog; vietnamization vietnam; predication predic; operator oper;
feudalism feudal; decisiveness decis; hopefulness hope; callousness callous; formaliti formal; sensitiviti sensit;
sensibiliti sensibl; triplicate triplic; formative form; formalize formal; electriciti electr; electrical electr;
hopeful hope; goodness good; revival reviv; allowance allow; inference infer; airliner airlin; gyroscopic gyroscop;
adjustable adjust; defensible defens; irritant irrit; replacement replac; adjustment adjust; dependent depend;
adoption adopt; homologou homolog; communism commun; activate activ; angulariti angular; homologous homolog;
effective effect; bowdlerize bowdler; probate probat; rate rate; cease ceas; controll control; roll roll;
generalizations gener; oscillators oscil; by by; as as; a a; opinion opinion; yes ye; toys toi; syzygy syzygi; ed ed
"""


@pytest.mark.parametrize("pair", [tuple(pair.split()) for pair in PAIRS.split(";")], ids=" ".join)
def test_known_pairs(pair: tuple[str, str]) -> None:
    assert porter_stem(pair[0]) == pair[1]


@pytest.mark.parametrize("word", ["", "s", "2021", "ß", "naïve", "...", "ing", "eed", "ied", "ion"])
def test_anything_is_a_word(word: str) -> None:
    assert porter_stem(word) in word
