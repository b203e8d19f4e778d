"""A process beside the daemon that says what texts compile to. No program's code runs here, nor in its place.

It is begun as ``python -I -S -B compile_texts.py`` with the interpreter of a program, and first writes a line of JSON,
``{"version": ...}``. It then reads lines from standard input: ``{"bytes": base64, "optimize", "flags"}``. For each it
writes a line: ``{"functions": [{"name", "qualified", "line", "last", "fingerprint", "lines", "function", "defaults", "beside"},
...]}``, with the ``text`` besides where that is not UTF-8; or ``{"error": "SyntaxError: ...", "fault": "syntax"}``.
"""

import ast
import base64
import io
import json
import os
import sys
import tokenize
import warnings

#: Bytes of memory that it may have: some texts would have the compiler take all there is.
MEMORY = 1024 * 1024 * 1024

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_FAULTS = (SyntaxError, ValueError, LookupError, OverflowError, RecursionError, MemoryError)


def main():
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    warnings.simplefilter('ignore')
    _bound_memory()
    _say({'version': sys.version})
    for line in sys.stdin:
        _say(_answer(json.loads(line)))


def _say(answer):
    sys.stdout.write(json.dumps(answer) + '\n')
    sys.stdout.flush()


def _answer(asked):
    fault = 'encoding'
    try:
        data = base64.b64decode(asked['bytes'])
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = data.decode(encoding)
        fault = 'syntax'
        answer = {'functions': _functions(text, asked)}
    except _FAULTS as error:
        return {'error': '%s: %s' % (type(error).__name__, str(error)[:300]), 'fault': fault}
    if encoding not in ('utf-8', 'utf-8-sig'):
        answer['text'] = text
    return answer


def _functions(text, asked):
    from imago.looking.fingerprints import codes_of, fingerprint, is_function, of_lines

    tree = compile(text, '<text>', 'exec', ast.PyCF_ONLY_AST | asked['flags'], True)
    code = compile(text, '<text>', 'exec', asked['flags'], True, asked['optimize'])
    nodes = _nodes_of(tree)
    lines, known = text.count('\n') + 1, {}
    return [
        {
            'name': one.co_name,
            'qualified': qualified,
            'line': one.co_firstlineno,
            'last': lines,
            'defaults': None,
            'beside': [],
            **({} if one is code else _of_node(nodes.get((one.co_firstlineno, one.co_name), ()), one.co_firstlineno)),
            'fingerprint': fingerprint(one, known),
            'lines': of_lines(one),
            'function': is_function(one),
        }
        for one, qualified in codes_of(code)
    ]


def _nodes_of(tree):
    """By first line and name, as code objects have them: the definitions of a text."""
    nodes = {}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) or isinstance(node, ast.ClassDef):
            decorators = getattr(node, 'decorator_list', ())
            line = min([node.lineno] + [one.lineno for one in decorators])
            nodes.setdefault((line, getattr(node, 'name', '<lambda>')), []).append(node)
    return nodes


def _of_node(nodes, line):
    """Where it ends, its literal defaults, as ``running.py`` tells those of a function, and what else is beside its code."""
    last = max([node.end_lineno for node in nodes], default=line)
    if len(nodes) != 1 or not isinstance(nodes[0], _FUNCTIONS):
        return {'last': last, 'defaults': None}
    arguments = nodes[0].args
    named = [(one.arg, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None]
    pairs = [(None, value) for value in arguments.defaults] + sorted(named, key=lambda pair: pair[0])
    defaults = [{'name': name, 'value': _literal(value)} for name, value in pairs]
    return {'last': last, 'defaults': defaults, 'beside': _beside(nodes[0], defaults)}


def _beside(node, defaults):
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    annotations = [getattr(node, 'returns', None)] + [one.annotation for one in arguments if one is not None]
    found = {
        'decorators': getattr(node, 'decorator_list', ()),
        'annotations': [one for one in annotations if one is not None],
        'computed defaults': [one for one in defaults if one['value'] is None],
    }
    return [name for name, there in found.items() if there]


def _literal(node):
    from imago.looking.fingerprints import of_default

    try:
        return of_default(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _bound_memory():
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        pass


if __name__ == '__main__':
    main()
