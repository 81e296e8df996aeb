"""Recipe sections of summaries: e-mails in files, and generated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData
from regard.recipes.data_sections import SplitFiles
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.example import DataReader


class MailBodies(Section):
    """Keys of all data of summaries."""

    clean: bool = True
    """Remove quoted lines, headers of forwarded mail, signatures and closings."""
    longest: int = Field(200, ge=1)
    """Maximum length of a body in words; longer bodies are truncated."""


class NoticesData(GeneratedData, MailBodies):
    """Generated e-mails with one announcement among distractor sentences."""

    made: ClassVar[str] = "regard.systems.summaries.notices:Notices"

    format: Literal["notices"]
    """Selects this format."""
    train_size: int = Field(10000, ge=1)
    """Number of e-mails to train on."""
    valid_size: int = Field(200, ge=1)
    """Number of e-mails to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of e-mails to test on; none of them is in the training data."""
    seed: int = 0
    """Random seed of the e-mails."""


class MailData(SplitFiles, MailBodies):
    """JSON lines, one e-mail each: an object with a body, a subject and optional additional subjects."""

    format: Literal["mail"]
    """Selects this format."""
    body: str = "body"
    """Key of the text."""
    subject: str = "subject"
    """Key of the subject line."""
    others: list[str] = Field(default_factory=list)
    """Keys of additional subject lines, used as further references of metrics if an e-mail has them."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.summaries.mail import Mail

        return Mail(
            self._path(named),
            body=self.body,
            subject=self.subject,
            others=tuple(self.others),
            clean=self.clean,
            longest=self.longest,
            **self.reading(),
        )
