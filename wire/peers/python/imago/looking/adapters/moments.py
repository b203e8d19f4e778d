"""Zones of time of the standard library, and the moments of pandas. The methods of a zone of the user's never run."""

import datetime

from imago.looking.adapters.adapter import Seen, bare, compiled_field, field, whole
from imago.looking.fields import ABSENT, class_label, plain
from imago.native import own_class

_DIGITS = {7: 0, 8: 3, 9: 6, 10: 9}
"""What pandas calls a resolution: how many digits a second has after the point."""

_CLOCK = tuple(
    (own_class(datetime.datetime).__dict__.get(name) or own_class(datetime.date).__dict__[name]).__get__
    for name in ("year", "month", "day", "hour", "minute", "second", "microsecond")
)
_zone_of = own_class(datetime.datetime).__dict__["tzinfo"].__get__


def zone_text(zone):
    """`UTC`, `UTC+02:00`, `Europe/Zurich`, or the type of any other zone."""
    if zone is datetime.timezone.utc:
        return "UTC"
    if type(zone) is datetime.timezone:
        offset = zone.__getinitargs__()[0]
        return f"UTC{_offset(offset)}" if type(offset) is datetime.timedelta else "<datetime.timezone>"
    if class_label(type(zone)) == "zoneinfo.ZoneInfo":
        key = plain(compiled_field(zone, "key"))
        if key is not None:
            return bare(key)
    return f"<{class_label(type(zone))}>"


def _offset(delta):
    seconds = 86400 * delta.days + delta.seconds
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{rest:02}" if rest else text


def _see_zone(zone):
    text = zone_text(zone)
    return Seen(text=text if text.startswith("<") else f"<{class_label(type(zone))} {text}>")


def _see_timestamp(value):
    """The clock as the object stores it, and its zone by name: asking the zone would run it."""
    year, month, day, hour, minute, second, micro = (read(value) for read in _CLOCK)
    zone, digits = _zone_of(value), _DIGITS[whole(field(value, "_creso"))]
    text = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    nano = compiled_field(value, "_nanosecond")
    nano = whole(compiled_field(value, "nanosecond") if nano is ABSENT else nano)
    fraction = f"{micro:06}{nano:03}"[:digits]
    text += f".{fraction}" if fraction.strip("0") else ""
    return Seen(text=f"Timestamp('{text}')" if zone is None else f"Timestamp('{text}', tz={zone_text(zone)})")


def _see_timedelta(value):
    digits = _DIGITS[whole(field(value, "_creso"))]
    ticks = whole(field(value, "_value"))
    seconds, fraction = divmod(abs(ticks), 10**digits)
    days, seconds = divmod(seconds, 86400)
    text = f"{days} days {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    text += f".{fraction:0{digits}}" if fraction else ""
    return Seen(text=f"Timedelta('{'-' if ticks < 0 else ''}{text}')")


TYPES = (
    ("datetime", "timezone", _see_zone, None),
    ("zoneinfo", "ZoneInfo", _see_zone, None),
    ("pandas", "Timestamp", _see_timestamp, None),
    ("pandas", "Timedelta", _see_timedelta, None),
    ("pandas._libs.tslibs.nattype", "NaTType", lambda _: Seen(text="NaT"), None),
    ("pandas._libs.missing", "NAType", lambda _: Seen(text="<NA>"), None),
)
