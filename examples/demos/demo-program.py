"""A small program with a mistake in it, for `npm run demo`."""

scores = {"ada": 41, "grace": 7}


def next(x):
    """The number after x."""
    x + 1


print("loaded", len(scores), "scores")
