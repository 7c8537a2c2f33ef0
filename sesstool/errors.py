"""Every error that sesstool raises on purpose.

SesstoolError
├── UsageError          2   the command line or the configuration is wrong
│   └── ConfigError     2   a setting, with the file that holds it
├── InputError          3   a path cannot be read
│   └── NotASessionError 3  it can be read, and holds no session that sesstool knows
├── LiveSessionError    4   a writer has the session open
├── AuthError           5   the wrong key, or what is encrypted was changed
│   ├── NoMatchError    5   no identity opens it; the passphrase is wrong
│   ├── HeaderError     5   the header of an age file is malformed
│   │   ├── HeaderMacError   5   it was changed after it was written
│   │   └── NewerFormatError 5   it is of another version of the format
│   ├── ArmorError      5   the armor of an age file is malformed
│   └── PayloadError    5   the encrypted bytes were changed or cut
└── WriteError          6   nothing was changed
    ├── StalePlanError  6   the file is not the one that the plan was made for
    ├── UnfinishedError 6   it was done, and the next run does what is left behind it
    ├── DurabilityError 6   it was written, and may not be on disk
    ├── ResidueError    6   a redacted text still holds what was to go
    └── UndoError       6   nothing to put back, or the file changed since

An error is a sentence in lower case that says what happened and where, with a hint that
names the next step. It never holds session text.
"""

from __future__ import annotations


class SesstoolError(Exception):
    """The base of all errors raised on purpose.

    ``exit_code`` is what the command exits with.
    """

    exit_code = 70

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the message and the hint: what happened, and what to do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SesstoolError):
    """The command line asks for something that cannot be done."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown, of the wrong type, or not allowed where it stands."""


class InputError(SesstoolError):
    """A path cannot be read."""

    exit_code = 3


class NotASessionError(InputError):
    """The bytes can be read, and are no session that sesstool knows."""


class LiveSessionError(SesstoolError):
    """A writer has the session open, or wrote to it a moment ago."""

    exit_code = 4


class AuthError(SesstoolError):
    """The key is wrong, or what was encrypted with it is damaged."""

    exit_code = 5


class NoMatchError(AuthError):
    """No identity opens an encrypted file, or the passphrase is wrong."""


class HeaderError(AuthError):
    """The header of an age file is malformed."""


class HeaderMacError(HeaderError):
    """A key opens the header of an age file, and the header is not the one that was written."""


class NewerFormatError(HeaderError):
    """The header is of a version of the age format that this version does not know."""


class ArmorError(AuthError):
    """The text that an age file was armored as is malformed."""


class PayloadError(AuthError):
    """The encrypted bytes of an age file were changed or cut.

    ``verified`` is how many bytes of plain text before the fault were authenticated, counted
    from the start; 0 where the file was read by position.
    """

    def __init__(self, message: str, hint: str = "", *, verified: int = 0) -> None:
        """Keep how much is good."""
        super().__init__(message, hint)
        self.verified = verified


class WriteError(SesstoolError):
    """A change was refused or failed; the files are as before."""

    exit_code = 6


class StalePlanError(WriteError):
    """The file is not the one that the plan was made for."""


class UnfinishedError(WriteError):
    """What was asked was done; what is left behind it the next run does."""


class DurabilityError(WriteError):
    """What was appended may not be on disk: the session is to be opened anew, which reads it back.

    ``synced`` is how many bytes of the file were surely on disk before.
    """

    def __init__(self, message: str, hint: str = "", *, synced: int = 0) -> None:
        """Keep how much is safe."""
        super().__init__(message, hint)
        self.synced = synced


class ResidueError(WriteError):
    """A redacted text did not pass its verification; nothing was written."""


class UndoError(WriteError):
    """There is nothing to put back, or the file changed since."""
