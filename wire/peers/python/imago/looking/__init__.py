"""Looking into a live image without disturbing it.

Everything here answers in the shapes of the contract, ready to be sent. `globals_page`, `inspect_static`, `more`,
`static_text`, `type_name` and `type_facts` run no user code at all and may be called from any thread, while the
program runs. `show` calls the printers of user classes, under the guard that it is given.
"""

from imago.looking.display import show
from imago.looking.fields import type_facts, type_name
from imago.looking.inspection import inspect_static, more
from imago.looking.limits import DeadlineExceeded
from imago.looking.names import globals_page
from imago.looking.rendering import static_text

__all__ = [
    "DeadlineExceeded",
    "globals_page",
    "inspect_static",
    "more",
    "show",
    "static_text",
    "type_facts",
    "type_name",
]
