"""The top-level statements of a file: which of them define given names, and which are the guard of a main program."""

import ast

from imago.looking.nearest import nearest


def chosen(body, names, file):
    """The statements that bind ``names``, in order. Raises ``NameError`` where the file has no such definition."""
    bound = [(statement, set(_bound(statement))) for statement in body]
    for name in names:
        if not any(name in here for _, here in bound):
            raise NameError(_missing(name, body, bound, file))
    return [statement for statement, here in bound if not here.isdisjoint(names)]


def future_names(body):
    """The features that the ``from __future__`` statements of a file turn on."""
    return [
        alias.name
        for statement in body
        if isinstance(statement, ast.ImportFrom) and statement.module == '__future__' and not statement.level
        for alias in statement.names
    ]


def without_guards(body):
    """``(statements, skipped)``: all but ``if __name__ == '__main__':``, and a sentence for each of those."""
    guards = [statement for statement in body if _is_guard(statement)]
    skipped = ["%s, the `if __name__ == '__main__'` of the running program." % _lines(one) for one in guards]
    return [statement for statement in body if not _is_guard(statement)], skipped


def _bound(statement):
    """The names that one statement binds where it stands."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition('.')[0]
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or type(statement).__name__ == 'TypeAlias':
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _missing(name, body, bound, file):
    for statement in body:
        inner = [node for node in ast.walk(statement) if node is not statement and isinstance(node, ast.stmt)]
        if any(name in _bound(node) for node in inner) and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            where = '%s, inside another statement' % _lines(statement)
            return '%s defines %r only in %s: load the whole file' % (file, name, where[0].lower() + where[1:])
    near = nearest(name, [one for _, here in bound for one in here])
    hint = '; it has %s' % ', '.join(near) if near else ''
    return '%s defines no %r at its top level%s' % (file, name, hint)


def _is_guard(statement):
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Compare):
        return False
    test = statement.test
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, test.comparators[0]]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    texts = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ['__name__'] and texts == ['__main__']


def _lines(statement):
    if statement.end_lineno == statement.lineno:
        return 'Line %d' % statement.lineno
    return 'Lines %d to %d' % (statement.lineno, statement.end_lineno)
