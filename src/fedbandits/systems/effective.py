"""Settings that change nothing: two configurations that differ in them alone are played alike."""

from __future__ import annotations

import msgspec

#: Settings of a budget, which say nothing where no noise is added.
BUDGET = ("epsilon", "delta")
#: Settings of what is protected, which say nothing then either.
UNIT = ("unit", "records_per_person")


def refuse_unit(unit: str, records_per_person: int) -> None:
    """Refuse a number of records a person where single records are protected.

    Raises
    ------
    ValueError
        If they do not fit together.
    """
    if unit == "record" and records_per_person != 1:
        raise ValueError(
            f"records_per_person: given {records_per_person}, but it has no effect with unit = "
            '"record"; set unit = "person", or leave it out'
        )


def effective(config: msgspec.Struct) -> msgspec.Struct:
    """Return the configuration that is played, with all idle settings at their defaults.

    Decisions, messages and measurements of a simulation are the same, bit for bit. Claims are made
    from the configuration as it was given.

    Parameters
    ----------
    config
        Configuration of a variant. Its property ``idle``, where it has one, names the settings that
        change nothing in it.
    """
    idle = getattr(config, "idle", ())
    if not idle:
        return config
    usual = {field.name: field.default for field in msgspec.structs.fields(config)}
    return msgspec.structs.replace(config, **{name: usual[name] for name in idle})
