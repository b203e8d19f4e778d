"""Builds the package for pip, with nothing but Python: what is behind ``pip install <this directory>``.

Installing must work where there is no network, on every Python from 3.9 on, newer ones of which come without
setuptools, and from a directory that may not be written to. So these are the hooks of PEP 517 and PEP 660, for one
package of pure Python whose every file is taken.
"""

import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUMMARY = 'The far end of Imago in a Python process: lets it be looked at, and evaluates, over a framed link.'
#: The module is ``imago``. A distribution of that name is somebody else's: a forensics tool on PyPI.
DISTRIBUTION = 'imago-agent'
VERSIONS = ['3.9', '3.10', '3.11', '3.12', '3.13', '3.14', '3.15']

_WHEEL = 'Wheel-Version: 1.0\nGenerator: imago_build\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
#: The same bytes from the same files, whenever they are built.
_MOMENT = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel, and returns its name."""
    return _write_wheel(wheel_directory, {name: _read(name) for name in _sources()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes a wheel that leads to the files here, and returns its name."""
    return _write_wheel(wheel_directory, {'imago_editable.pth': HERE.encode() + b'\n'})


def build_sdist(sdist_directory, config_settings=None):
    """Writes the sources, and returns the name of the archive."""
    stem = '%s-%s' % (_file_name(), _version())
    files = {name: _read(name) for name in [*_sources(), 'imago_build.py', 'pyproject.toml', 'README.md']}
    files['PKG-INFO'] = _metadata()
    with tarfile.open(os.path.join(sdist_directory, stem + '.tar.gz'), 'w:gz', format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo('%s/%s' % (stem, name))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stem + '.tar.gz'


def _write_wheel(directory, files):
    folder = '%s-%s.dist-info' % (_file_name(), _version())
    files = {**files, folder + '/METADATA': _metadata(), folder + '/WHEEL': _WHEEL.encode()}
    record = ''.join('%s,sha256=%s,%d\n' % (name, _hash(data), len(data)) for name, data in sorted(files.items()))
    files[folder + '/RECORD'] = ('%s%s/RECORD,,\n' % (record, folder)).encode()
    wheel = '%s-%s-py3-none-any.whl' % (_file_name(), _version())
    with zipfile.ZipFile(os.path.join(directory, wheel), 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, _MOMENT)
            info.external_attr = 0o100644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return wheel


def _sources():
    """The modules of the package, by their paths from here, with ``/``."""
    found = []
    for folder, folders, files in os.walk(os.path.join(HERE, 'imago')):
        folders[:] = sorted(name for name in folders if name != '__pycache__')
        within = os.path.relpath(folder, HERE).replace(os.sep, '/')
        found += ['%s/%s' % (within, name) for name in sorted(files) if name.endswith('.py')]
    return found


def _metadata():
    lines = [
        'Metadata-Version: 2.1',
        'Name: %s' % DISTRIBUTION,
        'Version: %s' % _version(),
        'Summary: %s' % SUMMARY,
        'License: MIT',
        *('Classifier: Programming Language :: Python :: %s' % version for version in VERSIONS),
        'Requires-Python: >=%s' % VERSIONS[0],
        'Description-Content-Type: text/markdown',
    ]
    return '\n'.join(lines).encode() + b'\n\n' + _read('README.md')


def _file_name():
    """The name as files have it."""
    return DISTRIBUTION.replace('-', '_')


def _version():
    return re.search(r"^__version__ = '([^']+)'$", _read('imago/version.py').decode(), re.MULTILINE).group(1)


def _hash(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()


def _read(name):
    with open(os.path.join(HERE, *name.split('/')), 'rb') as file:
        return file.read()
