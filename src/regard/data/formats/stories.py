"""Reader of stories with questions, in the bAbI format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.fields.sentences import Sentences, strip_sentence_end
from regard.data.problems import DataError

_DIGITS = 9  # maximum number of digits of a line number


@dataclass(frozen=True)
class Stories(DataReader):
    """Numbered sentences, and questions about the preceding ones. Fields "story", "question" and "answer".

    A line is a number, a space and a sentence. A question is followed by a tab and its answer, and optionally by a tab
    and the numbers of the supporting sentences, which are ignored. Number 1 starts a new story. Final punctuation of
    sentences and questions is removed. An answer is one word; several answers are separated by commas.

    Args:
        path: the file; a name with `*` matches several files, sorted by name.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "stories.txt"
    >>> _ = path.write_text("1 Mary ran home.\\n2 Where is she?\\thome\\t1\\n3 She left.\\n4 Is she there?\\tno\\t3\\n")
    >>> [(len(example.fields["story"]), example.fields["answer"]) for example in Stories(path)]
    [(1, 'home'), (2, 'no')]
    """

    path: str | Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, or all matching files."""
        path = Path(self.path)
        if "*" not in path.name:
            return (path,)
        found = tuple(sorted(path.parent.glob(path.name)))
        if not found:
            raise DataError(f"{path}: there is no file of such a name")
        return found

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per question, with all preceding sentences."""
        for path in self.files:
            yield from self._file(path)

    def _file(self, path: Path) -> Iterator[Example | BadLine]:
        story, last = Sentences(), 0
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            if not line.text.strip():
                continue
            where = f"{path}:{line.number}"
            digits, _, text = line.text.lstrip().partition(" ")
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS) or not text.strip():
                yield BadLine(where, "the line is not a number, a space and a sentence")
                continue
            before, last = last, int(digits)
            if last == 1:
                story = Sentences()
            elif last != before + 1:
                follows = (
                    f"behind {before}; it goes on with {before + 1} or 1" if before else "and a story begins with 1"
                )
                yield BadLine(where, f"the line has the number {last} {follows}")
                continue
            sentence, *more = text.split("\t")
            if not more:
                story = Sentences([*story, strip_sentence_end(sentence)])
            else:
                answer = more[0].strip()
                if self.questions:
                    yield Example({"story": story, "question": strip_sentence_end(sentence)}, where)
                else:
                    yield _asked(story, strip_sentence_end(sentence), answer, where)


def _asked(story: Sentences, question: str, answer: str, where: str) -> Example | BadLine:
    if not answer:
        return BadLine(where, "the question has a tab behind it and no answer; write one word there")
    if answer.split() != [answer]:
        return BadLine(where, f"the answer {answer!r} is not one word; join several with commas")
    if not question:
        return BadLine(where, "the line has an answer and no question")
    return Example({"story": story, "question": question, "answer": answer}, where)
