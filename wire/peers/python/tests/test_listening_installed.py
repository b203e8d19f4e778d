"""The package installed with pip, without network, into an environment that has nothing else."""

import ensurepip
import glob
import os
import shutil
import subprocess
import sys
import sysconfig
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
        run(sys.executable, '-m', 'venv', '--without-pip', cls.folder.name)
        # Unpacked, as the environment would have it, but without the pip that would do so and compile all of it.
        bundled = sysconfig.get_config_var('WHEEL_PKG_DIR') or os.path.join(os.path.dirname(ensurepip.__file__), '_bundled')
        (site,) = glob.glob(os.path.join(cls.folder.name, 'lib', 'python*', 'site-packages'))
        with zipfile.ZipFile(glob.glob(os.path.join(bundled, 'pip-*.whl'))[0]) as pip:
            pip.extractall(site)

    def install(self, *options):
        run(self.python, '-m', 'pip', 'install', '--no-index', '--no-deps', '--force-reinstall', *options, PACKAGE)

    def check(self):
        """The two lines work, and what they import is not of this repository."""
        program = self.program('import imago\nimago.listen()\nwait_for_end()', python=self.python, path='')
        link = program.attach()
        file = os.path.realpath(eval(link.value('imago.__file__')))
        self.assertTrue(file.startswith(os.path.realpath(self.folder.name)), file)
        self.assertEqual(link.value('[entry for entry in __import__("sys").path if entry.startswith(%r)]' % PACKAGE), '[]')
        looked = link.call('inspect', expr='imago', deadline_ms=60_000).answer()
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
        listed = run(self.python, '-m', 'pip', 'show', 'imago-agent')
        self.assertIn('Version: %s' % imago.__version__, listed)
        self.assertEqual(run(self.python, '-m', 'pip', 'check').strip(), 'No broken requirements found.')


class BesideAnother(ProgramCase):
    """The package where pip has put the ``imago`` of PyPI, a forensics tool, into the same folder."""

    def beside(self, metadata, summary):
        folder = tempfile.mkdtemp(prefix='imago-site-')
        self.addCleanup(shutil.rmtree, folder)
        os.symlink(os.path.join(PACKAGE, 'imago'), os.path.join(folder, 'imago'))
        os.makedirs(os.path.dirname(os.path.join(folder, metadata)))
        with open(os.path.join(folder, metadata), 'w') as file:
            file.write('Metadata-Version: 2.1\nName: imago\nSummary: %s\n' % summary)
        program = self.program('import imago\nimago.listen()\nimago.listen()\nwait_for_end()', path=folder)
        program.announcement()
        self.assertEqual(program.end(), 0)
        return bytes(program.printed[2]).decode()

    def test_listening_warns_once_of_another_distribution_whose_files_are_called_the_same(self):
        theirs = 'Imago is a python tool that extract digital evidences from images.'
        for metadata in ('imago-1.0.5.dist-info/METADATA', 'imago-1.0.5-py3.11.egg-info/PKG-INFO'):
            said = self.beside(metadata, theirs)
            self.assertEqual(said.count('RuntimeWarning'), 1, said)
            self.assertIn('another distribution called imago (1.0.5)', said)
            self.assertIn('pip uninstall imago', said)

    def test_our_own_distribution_is_none_of_another_under_the_name_that_it_had_before(self):
        self.assertEqual(self.beside('imago-0.2.0.dist-info/METADATA', imago_build.SUMMARY), '')
        self.assertEqual(self.beside('imago_agent-0.2.0.dist-info/METADATA', imago_build.SUMMARY), '')
        self.assertEqual(self.beside('imago-notes/METADATA', 'notes'), '')


class Built(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='imago-built-')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_wheel_holds_every_module_and_is_the_same_each_time(self):
        name = imago_build.build_wheel(self.folder)
        self.assertEqual(name, 'imago_agent-%s-py3-none-any.whl' % imago.__version__)
        with zipfile.ZipFile(os.path.join(self.folder, name)) as wheel:
            held = {name for name in wheel.namelist() if name.startswith('imago/')}
            record = wheel.read('imago_agent-%s.dist-info/RECORD' % imago.__version__).decode()
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
    env.update(PATH='/usr/bin:/bin', PYTHONDONTWRITEBYTECODE='')
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LONG)
    if done.returncode:
        raise AssertionError('%s\n%s\n%s' % (' '.join(command), done.stdout, done.stderr))
    return done.stdout
