"""What can go wrong, each with one sentence that says what to do about it."""


class DiscreetError(Exception):
    """A user's mistake or a refusal: the command line prints its sentence and exits with 1."""


class InputError(DiscreetError):
    """Data that cannot be read as it stands; the message names the file, the line and the fix."""


class SettingError(DiscreetError):
    """A recipe, policy or option that does not make sense."""


class UnknownNameError(SettingError):
    """A name that is not registered; the message offers the nearest one."""


class MissingPackageError(DiscreetError):
    """An optional package is needed; the message says which extra installs it."""


class RefusedError(DiscreetError):
    """Something that would break a guarantee or leak a secret, and is therefore not done."""


class RunError(DiscreetError):
    """A run folder that is missing, incomplete or does not match what is asked of it."""
