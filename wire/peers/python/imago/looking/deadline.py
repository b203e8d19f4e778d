"""What stops user code that a look had to run."""


class DeadlineExceeded(BaseException):
    """Raised in the thread that looks, inside `guard(seconds)`, when the time is over.

    It derives from `BaseException`, so that a printer which catches every `Exception` does not swallow it.
    """
