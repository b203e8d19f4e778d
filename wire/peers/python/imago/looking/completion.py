"""The look `complete`: how a piece of code might go on at its cursor, from stored names alone."""

import builtins
from heapq import nsmallest

from imago.looking.candidates import (
    Offer,
    Offers,
    Wanted,
    absolute,
    attributes_of,
    computes_attributes,
    keys_of,
    module_names,
    names_at_top,
)
from imago.looking.cursor import Cursor
from imago.looking.fields import ABSENT, class_label, clean, cut, is_class, stored
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.loaded import is_imago, loaded_module
from imago.looking.name_lookup import named_here
from imago.looking.outcomes import NeedsEvaluation, Unresolved, found
from imago.looking.parameters import called_with
from imago.looking.resolution import resolve

_MOST = 1000
_TEXT_MAX_CHARS = 1_000_000
_BY_KEYWORD = ("positional_or_keyword", "keyword")


def complete(image, query):
    """A `Looked<Completions>`. Evaluates nothing, imports nothing, and looks at no more than the cursor asks for."""
    text = query["text"][:_TEXT_MAX_CHARS]
    at = min(query["cursor"], len(text))
    cursor = Cursor(text, at)
    call, parameters = _call(image, cursor)
    because = None
    limit = max(1, min(query.get("limit", 100), _MOST))
    try:
        offers = _offers(image, cursor, text[at : at + 8], limit)
        offers, total = _counted(offers, _keywords(cursor, call, parameters))
    except Unresolved as unresolved:
        offers, total, because = [], 0, _because(unresolved.looked)
    return found(
        {
            "from": cursor.start,
            "to": at,
            "completions": [offer.shown() for offer in nsmallest(limit, offers, key=lambda offer: offer.order)],
            "total": total,
            "call": None if parameters is None else _shown_call(call, parameters),
            "because": because,
        }
    )


def _because(looked):
    """Why nothing is offered; None where what stands before the cursor is simply not there."""
    if looked["type"] == "stale_handle":
        return f"The handle {looked['handle']} leads nowhere any more: {looked['because']}."
    return looked["message"] if looked["type"] == "malformed" else looked.get("because")


def _counted(offers, keywords):
    """All offers, those of keywords for a call first, and how many there are in all."""
    return [*keywords, *offers], len(keywords) + len(offers)


def _offers(image, cursor, after, limit):
    if cursor.where == "nothing":
        return []
    if cursor.where == "import":
        return _imports(image.namespace, cursor, limit)
    if cursor.where == "attribute":
        return _attributes(image, cursor, limit)
    keys = _keys(image, cursor, after) if cursor.where == "key" else []
    if cursor.opening is not None:
        return keys
    bound = cursor.names_in_text()
    names = _in_any_case(cursor, limit, lambda wanted: names_at_top(image.namespace, wanted, bound))
    return [*keys, *names] if keys else names


def _in_any_case(cursor, limit, offers):
    """What begins with the prefix; or else what does so in letters of any size."""
    exact = offers(Wanted(cursor.prefix, limit))
    if len(exact) or not cursor.prefix or cursor.prefix.startswith("_"):
        return exact
    return offers(Wanted(cursor.prefix, limit, blind=True))


def _attributes(image, cursor, limit):
    if _is_unknown(image.namespace, cursor.owner):
        return []
    value = resolve(image.namespace, cursor.owner, image.handles).value
    offers = _in_any_case(cursor, limit, lambda wanted: attributes_of(value, wanted))
    module = loaded_module(cursor.owner)
    if not len(offers) and module is not ABSENT and module is not value:
        # At the top level something else has the name of the module.
        offers = _in_any_case(cursor, limit, lambda wanted: attributes_of(module, wanted))
    if not len(offers) and computes_attributes(value):
        label = class_label(value if is_class(value) else type(value))
        raise NeedsEvaluation(f"Nothing stored begins so; {label} computes other attributes, by code.")
    return offers


def _is_unknown(namespace, code):
    """Whether a plain path begins with a name that nothing has: then nobody has to look for one that is like it."""
    root = code.partition(".")[0]
    if not code.replace(".", "_").isidentifier():
        return False
    return stored(namespace, root) is ABSENT and stored(builtins.__dict__, root) is ABSENT


def _keys(image, cursor, after):
    if _is_unknown(image.namespace, cursor.owner):
        return []
    value = resolve(image.namespace, cursor.owner, image.handles).value
    keys = keys_of(value)
    if keys is None:
        if cursor.opening is not None:
            label = class_label(type(value))
            raise NeedsEvaluation(f"What can stand in the brackets after a {label} is told by its code.")
        return []
    offers = []
    for at, key in enumerate(keys):
        spelled = _spelled(key, cursor.opening)
        if spelled is not None and spelled.startswith(cursor.prefix):
            offers.append(Offer(spelled + _ending(cursor.opening, after), at - len(keys), kind="constant", word=spelled))
    return offers


def _spelled(key, opening):
    """A key as it is written behind `opening`, or whole where nothing is open; None for one that cannot be so."""
    if type(key) in (int, bool, type(None)) and opening is None:
        return repr(key) if type(key) is not int or key.bit_length() < 1024 else None
    if type(key) not in (str, bytes) or len(key) > NAME_MAX_CHARS:
        return None
    if opening is None:
        return clean(repr(key))
    quote = opening.lstrip("rRbBuU")
    prefix = opening[: len(opening) - len(quote)].lower()
    if ("b" in prefix) != (type(key) is bytes):
        return None
    body = repr(key)[2:-1] if type(key) is bytes else clean(repr(key))[1:-1]
    if "r" in prefix:
        return body if "\\" not in body and quote[0] not in body else None
    return body.replace("\\'", "'").replace('\\"', '"').replace(quote[0], "\\" + quote[0])


def _ending(opening, after):
    """The quotes and the bracket that close a key, as far as they do not stand behind the cursor already."""
    quote = "" if opening is None else opening.lstrip("rRbBuU")
    if quote and after.startswith(quote):
        return ""
    return quote if after.startswith("]") else quote + "]"


def _call(image, cursor):
    """`(Call, Parameters)` of the call around the cursor; the latter None where they are not known."""
    call = cursor.call()
    if call is None or cursor.where == "import":
        return None, None
    if _is_unknown(image.namespace, call.callee):
        return call, None
    try:
        name = named_here(image.namespace, call.callee, image.handles)
    except Unresolved:
        return call, None
    return call, called_with(name.value, 1 if name.bound else 0)


def _shown_call(call, parameters):
    return {
        "name": cut(call.callee, NAME_MAX_CHARS),
        "signature": clean(parameters.text),
        "parameter": _position(call, parameters.parameters),
    }


def _position(call, parameters):
    """Which of the parameters the cursor's argument is for, counted from 0; None where that cannot be told."""
    kinds = [one.kind for one in parameters]
    if call.keyword is not None:
        for at, one in enumerate(parameters):
            if one.name == call.keyword and one.kind in _BY_KEYWORD:
                return at
        return kinds.index("keyword_rest") if "keyword_rest" in kinds else None
    if call.spread or call.named:
        return None
    if call.given < len(kinds) and kinds[call.given] in ("positional", "positional_or_keyword"):
        return call.given
    return kinds.index("rest") if "rest" in kinds else None


def _keywords(cursor, call, parameters):
    """The parameters that may still be given by name, where an argument begins at the cursor's word."""
    if parameters is None or not call.fresh or cursor.where != "name":
        return []
    offers, given = [], call.given
    for at, one in enumerate(parameters.parameters, -len(parameters.parameters)):
        if one.kind in ("positional", "positional_or_keyword") and given:
            given -= 1
        elif one.kind in _BY_KEYWORD and one.name not in call.named and one.name.startswith(cursor.prefix):
            offers.append(Offer(one.name + "=", at, kind="parameter", word=one.name))
    return offers


def _imports(namespace, cursor, limit):
    words = cursor.words
    if words[0] == "import":
        module, expected = _last_clause(words[1:])
        return _words(cursor, expected) if expected is not None else _modules(cursor, module)
    if "import" not in words:
        return _import_from(namespace, cursor, "".join(words[1:]))
    at = words.index("import")
    _, expected = _last_clause([word for word in words[at + 1 :] if word != "("])
    if expected is not None:
        return _words(cursor, expected)
    module = absolute("".join(words[1:at]), namespace)
    return [] if module is None else _names_of_module(cursor, module, limit)


def _import_from(namespace, cursor, module):
    """How `from module` goes on, where no `import` follows yet."""
    if module and not module.endswith("."):
        return _words(cursor, ["import"])
    only_dots = not module.strip(".")
    package = absolute(module if only_dots else module[:-1], namespace)
    offers = [] if package is None else [*_modules(cursor, package)]
    return [*offers, *_words(cursor, ["import"])] if module and only_dots else offers


def _last_clause(words):
    """`(module so far, words expected)` of the last of several names that are imported."""
    while "," in words:
        words = words[words.index(",") + 1 :]
    if not words or words[-1] == ".":
        return "".join(words[:-1]), None
    return "", [] if "as" in words else ["as"]


def _words(cursor, words):
    offers = Offers(Wanted(cursor.prefix, _MOST))
    offers.add_words(words, 1, "keyword")
    return offers


def _modules(cursor, package):
    offers = Offers(Wanted(cursor.prefix, _MOST))
    if is_imago(package):
        return offers
    offers.add_words(module_names(package), 1, "module", "module")
    return offers


def _names_of_module(cursor, name, limit):
    module = loaded_module(name)
    inner = _modules(cursor, name)
    if module is ABSENT:
        if not len(inner):
            raise NeedsEvaluation(f"`{name}` is not loaded, and completing imports nothing.")
        return inner
    offers = attributes_of(module, Wanted(cursor.prefix, limit))
    known = {offer.text for offer in offers}
    return [*offers, *(offer for offer in inner if offer.text not in known)]
