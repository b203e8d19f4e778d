"""The settings of the shop."""

SECRET_KEY = 'of a demo'
DEBUG = True
ALLOWED_HOSTS = ['127.0.0.1']
INSTALLED_APPS = []
ROOT_URLCONF = 'shop.urls'
