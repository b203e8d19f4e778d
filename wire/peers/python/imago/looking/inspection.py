"""One value, looked at in sections."""

import time

from imago.looking.adapted import measure_of
from imago.looking.deadline import DeadlineExceeded
from imago.looking.evaluated import evaluated_sections, evaluated_value
from imago.looking.failures import describe_error, exception_section
from imago.looking.fields import is_class, type_facts
from imago.looking.kinds import kind_of
from imago.looking.limits import (
    EVALUATED_LIMITS,
    EXPRESSION_SECONDS,
    STATIC_LIMITS,
    TOTAL_SECONDS,
)
from imago.looking.outcomes import Unresolved, found, timed_out
from imago.looking.resolve import resolve
from imago.looking.sections import (
    callable_section,
    doc_section,
    members_section,
    repr_section,
    sample_section,
)
from imago.looking.shown import is_worth_a_handle

_SCALARS = ("none", "bool", "number", "string", "bytes")


def inspect_static(namespace, expr, handles):
    """A `Looked<Inspected>` of what `expr` leads to through stored fields. Runs no user code."""
    try:
        attribute = resolve(namespace, expr, handles)
    except Unresolved as unresolved:
        return unresolved.looked
    return found(static_sections(attribute.value, attribute.remark, handles))


def inspect_evaluated(namespace, expr, handles, evaluate, guard):
    """A `Looked<Inspected>` of what `expr` evaluates to, printed by its own printer.

    `evaluate(expr)` runs the expression; an exception that it raises leaves through here, for the caller to take
    down. `guard(seconds)` raises `DeadlineExceeded` in this thread when that time is over. The expression has one
    second and all sections together what is left of two; a section that fails or is too slow says so in `error`.
    """
    began = time.monotonic()
    handles.let_go()
    try:
        with guard(EXPRESSION_SECONDS):
            value = evaluated_value(namespace, expr, handles, evaluate)
    except Unresolved as unresolved:
        return unresolved.looked
    except DeadlineExceeded:
        return timed_out(EXPRESSION_SECONDS)
    sections = static_sections(value, None, handles)
    sections["read"] = "evaluated"
    sections["limits"] = dict(EVALUATED_LIMITS)
    sections.update(evaluated_sections(value, sections, handles, guard, began + TOTAL_SECONDS))
    return found(sections)


def static_sections(value, remark, handles):
    """Every section that makes sense for a value, from stored fields."""
    kind = kind_of(value)
    answer = {"type": type_facts(value), "kind": kind, "read": "static"}
    sections = [
        ("repr", lambda: repr_section(value, remark, handles)),
        ("size", lambda: measure_of(value)),
        ("sample", lambda: sample_section(value, handles)),
        ("members", lambda: None if kind in _SCALARS else members_section(value)),
        ("doc", lambda: doc_section(value, kind, handles)),
        ("callable", lambda: callable_section(value)),
    ]
    if kind == "exception" or (is_class(value) and issubclass(value, BaseException)):
        sections.append(("exception", lambda: exception_section(value)))
    for name, read in sections:
        try:
            section = read()
        except Exception as error:
            section = {"error": describe_error(error)}
        if section is not None:
            answer[name] = section
    answer["limits"] = dict(STATIC_LIMITS)
    if is_worth_a_handle(value):
        answer["handle"] = handles.keep_value(value)
    return answer
