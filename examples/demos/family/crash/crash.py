def price(order):
    rate = {"early": 10}[order["discount"]]
    return 100 - rate


print(price({"items": ["tea"], "discount": None}))
