"""Bodies of e-mails: what is left out, how they are cut, and lines that are no e-mails."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import DataError
from regard.data.hash_split import Part
from regard.systems.summaries.mail import Mail, clean_body, shortened_body
from regard.systems.summaries.notices import Notices

PARTS: tuple[Part, Part] = ("train", "test")
TEXT = "Lunch is at noon.\nBring a plate."


@pytest.mark.parametrize(
    "body",
    [
        f"{TEXT}\n> Who comes?\n>> I do.",
        f"{TEXT}\n\n-----Original Message-----\nFrom: a\nDinner is at six.",
        f"{TEXT}\n---------------------- Forwarded by A on 1/2 ------\nDinner.",
        f"{TEXT}\nOn Monday, A. Nobody wrote:\nDinner is at six.",
        f"{TEXT}\n--\nA. Nobody\nThe Company",
        f"{TEXT}\nBest regards,\nA. Nobody",
        f"{TEXT}\nThanks!\nA.",
        f"From: a\nTo: b\nSubject: Lunch\n\n{TEXT}",
        f"-----Original Message-----\nFrom: a\n{TEXT}",
        TEXT,
    ],
)
def test_only_what_was_written_is_left(body: str) -> None:
    assert clean_body(body) == TEXT


def test_a_closing_far_from_the_end_is_text() -> None:
    lines = ["Thanks.", *(f"Line {number}." for number in range(9))]
    assert clean_body("\n".join(lines)) == "\n".join(lines)
    assert clean_body("Thanks,") == "Thanks,"


def test_a_body_is_cut_to_its_first_words() -> None:
    assert shortened_body("a b\n> c\nd e", clean=True, longest=3) == "a b d"
    assert shortened_body("a b\n> c\nd e", clean=False, longest=4) == "a b > c"


def test_files_have_bodies_subjects_and_other_references(tmp_path: Path) -> None:
    path = tmp_path / "mail.jsonl"
    path.write_text('{"body": "a  b", "subject": "s", "x": "t", "y": "u"}\n{"body": "c", "subject": "v"}\n')
    found = [one.fields for one in Mail(path, others=("x", "y"))]
    assert found == [{"source": "a b", "target": "s", "others": ["t", "u"]}, {"source": "c", "target": "v"}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nothing", "not JSON"),
        ('{"text": "a"}', "'body' among text"),
        ('{"body": "a"}', "'subject' among body"),
        ('{"body": "a", "subject": " "}', "subject line is blank"),
        ('{"body": "> a", "subject": "b"}', "nothing of the body"),
    ],
)
def test_a_bad_line_is_one_sentence(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "mail.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(DataError, match=r"mail\.jsonl:1") as raised:
        list(Mail(path))
    assert said in str(raised.value)


def test_the_announcement_is_the_subject() -> None:
    for index in range(200):
        found = Notices(size=200)[index].fields
        assert str(found["source"]).count(" .") + str(found["source"]).count(" ?") == 3
        words = set(str(found["target"]).split()) - {"moved", "cancelled", "help", "wanted", ":"}
        assert words <= set(str(found["source"]).split()) | {"on", "to", "this"}
    assert ">" not in " ".join(str(one.fields["source"]) for one in Notices(size=99))
    assert ">" in " ".join(str(one.fields["source"]) for one in Notices(size=99, clean=False))
    train, test = ({str(one.fields["source"]) for one in Notices(part, size=300, clean=False)} for part in PARTS)
    assert not train & test
