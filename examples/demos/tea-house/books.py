"""The same books, kept in Python: an order stays in ``year`` until it was entered."""

from collections import deque

menu = {'assam': 320, 'sencha': 450, 'lapsang': 510}
spring_menu = {'oolong': 610}
teas = list(menu)
year = deque(('oolong' if number == 733 else teas[number % 3], 1 + number % 4) for number in range(1000))
books = []


def pence_for(tea):
    """What a pot of tea costs."""
    return menu[tea]


def close_books():
    """The takings of the year, in pence."""
    while year:
        tea, pots = year[0]
        books.append((tea, pots * pence_for(tea)))
        year.popleft()
    return sum(paid for _, paid in books)
