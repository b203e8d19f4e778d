"""The package installed with pip, without network, into an environment that has nothing else."""

import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import imago
import imago_build
from tests.guests import PACKAGE, ProgramCase

#: Seconds that pip and venv may take on a busy machine.
LONG = 150


class Installed(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='imago-venv-')
        cls.addClassCleanup(cls.folder.cleanup)
        cls.python = os.path.join(cls.folder.name, 'bin', 'python')
        run(sys.executable, '-m', 'venv', cls.folder.name)

    def install(self, *options):
        run(self.python, '-m', 'pip', 'install', '--no-index', '--no-deps', '--force-reinstall', *options, PACKAGE)

    def check(self):
        """The two lines work, and what they import is not of this repository."""
        program = self.program('import imago\nimago.listen()\nwait_for_end()', python=self.python, path='')
        link = program.attach()
        file = os.path.realpath(eval(link.value('imago.__file__')))
        self.assertTrue(file.startswith(os.path.realpath(self.folder.name)), file)
        self.assertEqual(link.value('[entry for entry in __import__("sys").path if "peers" in entry]'), '[]')
        looked = link.call('inspect', expr='imago', evaluate=False, deadline_ms=5000).answer()
        self.assertEqual(looked['type'], 'found')
        self.assertEqual(program.end(), 0)

    def test_pip_installs_it_from_its_directory_with_nothing_but_python(self):
        before = files(PACKAGE)
        self.install()
        self.check()
        self.install('--no-build-isolation')
        self.check()
        made = {name for name in files(PACKAGE) - before if not name.endswith('.py')}
        self.assertEqual(made, set())
        listed = run(self.python, '-m', 'pip', 'show', 'imago')
        self.assertIn('Version: %s' % imago.__version__, listed)
        self.assertEqual(run(self.python, '-m', 'pip', 'check').strip(), 'No broken requirements found.')


class Built(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='imago-built-')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_wheel_holds_every_module_and_is_the_same_each_time(self):
        name = imago_build.build_wheel(self.folder)
        self.assertEqual(name, 'imago-%s-py3-none-any.whl' % imago.__version__)
        with zipfile.ZipFile(os.path.join(self.folder, name)) as wheel:
            held = {name for name in wheel.namelist() if name.startswith('imago/')}
            record = wheel.read('imago-%s.dist-info/RECORD' % imago.__version__).decode()
            self.assertEqual({line.split(',')[0] for line in record.splitlines()}, set(wheel.namelist()))
        modules = {name for name in files(os.path.join(PACKAGE, 'imago')) if name.endswith('.py')}
        self.assertEqual(held, {'imago/' + name for name in modules})
        with open(os.path.join(self.folder, name), 'rb') as file:
            first = file.read()
        imago_build.build_wheel(self.folder)
        with open(os.path.join(self.folder, name), 'rb') as file:
            self.assertEqual(file.read(), first)

    def test_an_editable_wheel_leads_here(self):
        with zipfile.ZipFile(os.path.join(self.folder, imago_build.build_editable(self.folder))) as wheel:
            self.assertEqual(wheel.read('imago_editable.pth').decode().strip(), PACKAGE)

    def test_a_source_archive_can_build_itself(self):
        name = imago_build.build_sdist(self.folder)
        with tarfile.open(os.path.join(self.folder, name)) as archive:
            names = {one.partition('/')[2] for one in archive.getnames()}
        self.assertTrue({'pyproject.toml', 'imago_build.py', 'PKG-INFO', 'imago/listening.py'} <= names, names)


def files(folder):
    """The paths of all files below, but for what Python itself keeps beside them."""
    found = set()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != '__pycache__']
        found |= {os.path.relpath(os.path.join(place, name), folder).replace(os.sep, '/') for name in names}
    return found


def run(*command):
    """What a command prints; with a PATH that has Python's own directory and the system's tools, but no Node."""
    env = {name: value for name, value in os.environ.items() if name not in ('PYTHONPATH', 'PIP_FIND_LINKS')}
    done = subprocess.run(command, env=dict(env, PATH='/usr/bin:/bin'), capture_output=True, text=True, timeout=LONG)
    if done.returncode:
        raise AssertionError('%s\n%s\n%s' % (' '.join(command), done.stdout, done.stderr))
    return done.stdout
