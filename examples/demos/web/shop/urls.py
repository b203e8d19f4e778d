"""What the shop answers."""

from django.urls import path

from shop import orders

urlpatterns = [path('orders/<int:number>', orders.show)]
