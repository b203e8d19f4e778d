"""What an order costs, in cents."""

from django.http import JsonResponse

PRICES = {'tea': 450, 'cake': 380}
DISCOUNTS = {'winter': 20, 'summer': 50}

ORDERS = {
    7: {'items': ['tea', 'cake'], 'discount': 'winter'},
    8: {'items': ['tea', 'tea'], 'discount': None},
    9: {'items': ['tea', 'scone'], 'discount': 'summer'},
}


def total(order):
    price = sum(PRICES[item] for item in order['items'])
    return price - price * DISCOUNTS[order['discount']] // 100


def show(request, number):
    return JsonResponse({'order': number, 'total': total(ORDERS[number])})
