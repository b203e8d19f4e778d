"""The page of several names, as the daemon puts it together from the answers of the host."""

from imago_wolfram.definition import Settings, markdown, read


def symbol_definition(source, symbols, contexts=False, max_length=10_000, *, include=(), settings=Settings()):
    """Markdown, with one heading for each name; `symbols` has commas between them."""
    found = [read(source, name, max_length, settings=settings) for name in symbols.split(",")]
    return "\n\n".join(markdown(one, contexts, include) for one in found)
