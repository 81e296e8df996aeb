"""The Porter stemmer (Porter 1980), which takes English endings off."""

from __future__ import annotations

from functools import lru_cache

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def porter_stem(word: str) -> str:
    """The stem of an English word in lower case, by the five steps of the paper as published.

    Porter 1980, "An algorithm for suffix stripping". Of the endings of a step that fit, the longest is tried, and only
    that one. Words of one or two letters stay as they are, as in the author's own program.

    >>> [porter_stem(word) for word in ("visited", "visits", "relational", "hopping", "happy", "sky")]
    ['visit', 'visit', 'relat', 'hop', 'happi', 'sky']
    """
    if len(word) <= 2:
        return word
    word = _past_and_progressive(_plural(word))
    if word.endswith("y") and "v" in _form(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(_replace(word, _STEP_2), _STEP_3)
    return _final(_strip(word))


def _form(word: str) -> str:
    """The word in consonants and vowels: "syzygy" is "cvcvcv"; y is a vowel after a consonant."""
    form = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and form.endswith("c"))
        form += "v" if vowel else "c"
    return form


def _measure(stem: str) -> int:
    """m in [C](VC)^m[V]: how often a vowel is followed by a consonant."""
    return _form(stem).count("vc")


def _short_end(stem: str) -> bool:
    """*o: ends consonant, vowel, consonant, the last not w, x or y."""
    return _form(stem).endswith("cvc") and stem[-1] not in "wxy"


def _double_end(stem: str) -> bool:
    """*d: ends with a doubled consonant."""
    return len(stem) > 1 and stem[-1] == stem[-2] and _form(stem)[-1] == "c"


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word:
            return _mend(stem) if "v" in _form(stem) else word
    return word


def _mend(stem: str) -> str:
    """Step 1b, after an ending was taken off: conflat(e), hop(p), fil(e)."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _double_end(stem) and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short_end(stem) else stem


def _replace(word: str, endings: dict[str, str]) -> str:
    """Steps 2 and 3: the longest ending that fits, where a measure above 0 is left."""
    ending = max((ending for ending in endings if word.endswith(ending)), key=len, default="")
    stem = word.removesuffix(ending)
    return stem + endings[ending] if ending and _measure(stem) > 0 else word


def _strip(word: str) -> str:
    """Step 4: the longest ending that fits goes where a measure above 1 is left; ion only after s or t."""
    ending = max((ending for ending in _STEP_4 if word.endswith(ending)), key=len, default="")
    stem = word.removesuffix(ending)
    if not ending or _measure(stem) <= 1 or (ending == "ion" and stem[-1] not in "st"):
        return word
    return stem


def _final(word: str) -> str:
    """Step 5: a last e, and a doubled l."""
    stem = word[:-1]
    if word.endswith("e") and (_measure(stem) > 1 or (_measure(stem) == 1 and not _short_end(stem))):
        word = stem
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
