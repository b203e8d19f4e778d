"""Values of the standard library that keep what they are where no field shows it."""

import re

from imago.looking.adapters.adapter import Seen, field, listed, whole
from imago.looking.contents import storage_of
from imago.looking.fields import class_name, cut
from imago.looking.limits import NAME_MAX_CHARS

_FLAGS = ((2, "I"), (4, "L"), (8, "M"), (16, "S"), (64, "X"), (256, "A"))


def _see_pattern(pattern):
    """`re.compile('a+', re.I)`. What it was compiled from may be no exact text, and is shown like any value."""
    flags = "|".join(f"re.{letter}" for bit, letter in _FLAGS if pattern.flags & bit)
    return Seen("re.Pattern", flags, fields=[("pattern", pattern.pattern)])


def _see_match(match):
    start, end = match.span()
    return Seen("re.Match", f"span ({start}, {end})", fields=[("string", match.string)])


def _see_address(value):
    name = class_name(type(value))
    text = _address(whole(field(value, "_ip")), 4 if "4" in name else 6)
    after = f"/{whole(field(value, '_prefixlen'))}" if "Interface" in name else ""
    return Seen(text=f"{name}('{text}{after}')")


def _see_network(value):
    name = class_name(type(value))
    first = _address(whole(field(field(value, "network_address"), "_ip")), 4 if "4" in name else 6)
    return Seen(text=f"{name}('{first}/{whole(field(value, '_prefixlen'))}')")


def _address(number, version):
    """The usual text of an address: the longest run of zeros of one of version 6 is left out."""
    if version == 4:
        return ".".join(str(byte) for byte in int.to_bytes(number, 4, "big"))
    groups = [f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)]
    runs = re.findall("(?:^|:)((?:0:)*0)(?=:|$)", ":".join(groups))
    longest = max(runs, key=len, default="")
    if len(longest) < 2:
        return ":".join(groups)
    before, _, after = f":{':'.join(groups)}:".partition(f":{longest}:")
    return f"{before[1:]}::{after[:-1]}"


def _see_array(value):
    """`array.array`: items are read a slice at a time by the class itself."""
    cls = type(value)
    return Seen(
        "array.array",
        repr(value.typecode),
        shape=[len(value)],
        storage=listed(len(value), lambda start, count: cls.__getitem__(value, slice(start, start + count)).tolist()),
    )


def _see_lazy_import(value):
    """`<lazy_import 'json.decoder'>`, by its own compiled printer, which imports nothing."""
    return Seen(text=cut(type(value).__repr__(value), NAME_MAX_CHARS))


def _see_chain(value):
    maps = field(value, "maps")
    held = storage_of(maps)
    if type(maps) is not list:
        return None
    return Seen("collections.ChainMap", storage=listed(len(maps), lambda *some: held.take(maps, *some)))


def _see_default(value):
    """A `defaultdict` says what it makes of a missing key."""
    factory = type(value).__dict__["default_factory"].__get__(value)
    return Seen("collections.defaultdict", storage=storage_of(value), fields=[("default_factory", factory)])


def _see_secret(value):
    """What a program has wrapped so that nobody prints it."""
    return Seen(text=f"{class_name(type(value))}('**********')")


TYPES = (
    ("re", "Pattern", _see_pattern, None),
    ("re", "Match", _see_match, None),
    *(("ipaddress", name, _see_address, None) for name in ("IPv4Address", "IPv6Address")),
    *(("ipaddress", name, _see_address, None) for name in ("IPv4Interface", "IPv6Interface")),
    *(("ipaddress", name, _see_network, None) for name in ("IPv4Network", "IPv6Network")),
    (("types", "LazyImportType"), "lazy_import", _see_lazy_import, None),
    ("array", "array", _see_array, "sequence"),
    ("collections", "ChainMap", _see_chain, "mapping"),
    ("collections", "defaultdict", _see_default, "mapping"),
    ("pydantic.types", "SecretStr", _see_secret, None),
    ("pydantic.types", "SecretBytes", _see_secret, None),
)
