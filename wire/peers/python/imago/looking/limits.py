"""How much a look shows at most, and the end of its time."""

# How much of a value one look may show, and how long looking may take.
#
# Lengths are characters of the text that is sent, counts are items. Every answer of `inspect` repeats the ones that
# shaped it, so that nobody has to guess why something was cut.

REPR_MAX_CHARS = 4096
REPR_MAX_ITEMS = 100
DOC_MAX_CHARS = 4096
SAMPLE_MAX_ITEMS = 16
SAMPLE_ITEM_MAX_CHARS = 200
MEMBER_MAX_PER_GROUP = 24
MEMBER_NAME_MAX_CHARS = 200
FIELDS_MAX = 40
METHODS_MAX = 40
METHOD_SIGNATURE_MAX_CHARS = 160
PREVIEW_MAX_CHARS = 300
SOURCE_PREVIEW_MAX_CHARS = 1200
SIGNATURE_MAX_CHARS = 1200
MESSAGE_MAX_CHARS = 1000
TRACEBACK_MAX_FRAMES = 12
NAME_MAX_CHARS = 200
NOTE_MAX_CHARS = 400

# What is kept of a printed value for `more`, and what one answer of `more` carries at most.
KEPT_MAX_CHARS = 256 * 1024
PIECE_MAX_CHARS = 64 * 1024
PIECE_MAX_ITEMS = 1000

# A key is looked for by comparing; beyond this many entries only the dict itself could find it in time.
# Texts are compared fastest: of them more entries are gone through.
KEY_SCAN_MAX_ENTRIES = 100_000
TEXT_KEY_SCAN_MAX_ENTRIES = 5_000_000
SLICE_MAX_ITEMS = 100_000

EXPRESSION_MAX_CHARS = 8192
EXPRESSION_MAX_DEPTH = 64

NEAREST_MAX_NAMES = 5

# Seconds that the printer of a result may take: it has run for that result already, so it is worth some waiting.
SHOWN_SECONDS = 2.0

STATIC_LIMITS = {
    "repr_max_chars": REPR_MAX_CHARS,
    "repr_max_items": REPR_MAX_ITEMS,
    "doc_max_chars": DOC_MAX_CHARS,
    "sample_max_items": SAMPLE_MAX_ITEMS,
    "sample_item_max_chars": SAMPLE_ITEM_MAX_CHARS,
    "member_max_per_group": MEMBER_MAX_PER_GROUP,
    "source_preview_max_chars": SOURCE_PREVIEW_MAX_CHARS,
}

# What stops user code that had to run.


class DeadlineExceeded(BaseException):
    """Raised in the thread that looks, inside `guard(seconds)`, when the time is over.

    It derives from `BaseException`, so that a printer which catches every `Exception` does not swallow it.
    """
