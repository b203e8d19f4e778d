import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { WireError } from '../../wire/errors.ts'
import { openCommits } from '../../wire/kernels/git-commits.ts'
import { isTracked } from '../../wire/kernels/git-index.ts'
import { findPython } from '../../wire/kernels/python.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('venv of a project')

let folder = ''
let root = ''
test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-venv-')))
  root = join(folder, 'project')
  mkdirSync(root)
  interpreter(join(folder, 'python'))
})
test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const ran = () => existsSync(join(folder, 'ran'))

/** Says that it ran, and poses as a Python. */
function interpreter(path: string): void {
  writeFileSync(path, `#!/bin/sh\ntouch ${join(folder, 'ran')}\necho 3.12.0\necho "$0"\n`)
  chmodSync(path, 0o755)
}

/** As `python -m venv` makes it: a link to an interpreter elsewhere. */
function makeVenv(venv = join(root, '.venv')): void {
  mkdirSync(join(venv, 'bin'), { recursive: true })
  writeFileSync(join(venv, 'pyvenv.cfg'), `home = ${folder}\n`)
  symlinkSync(join(folder, 'python'), join(venv, 'bin/python'))
}

function git(...args: string[]): void {
  const nobody = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main']
  execFileSync('git', [...who, ...args], { cwd: root, stdio: 'pipe', env: { ...process.env, ...nobody } })
}

/** Commits all that is there, `.venv` and more files besides. */
function track(): void {
  git('init', '-q')
  for (const name of ['.a', 'a', 'b', 'bb', 'z'.repeat(150)]) writeFileSync(join(root, name), name)
  git('add', '-Af')
  git('commit', '-qm', 'all')
}

interface Asked {
  readonly env?: Readonly<Record<string, string>>
  readonly trusted?: readonly string[]
}

async function found({ env = {}, trusted }: Asked = {}): Promise<string> {
  try {
    return await findPython({ root, env: { PATH: '/usr/bin:/bin', ...env }, trusted })
  } catch (error) {
    if (error instanceof WireError) return `${error.code}: ${error.message}`
    throw error
  }
}

const own = () => join(root, '.venv/bin/python')

test('the environment that uv is told of, a venv in the root, and the one that Poetry made for the folder are the project’s', async () => {
  writeFileSync(join(root, 'pyproject.toml'), '[tool.poetry]\nname = "shop"\n')
  const cache = join(folder, 'cache')
  const hash = createHash('sha256')
    .update(root)
    .digest('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .slice(0, 8)
  const kept = join(cache, 'pypoetry/virtualenvs')
  makeVenv(join(kept, 'other-AAAAAAAA-py3.12'))
  assert.is(dirname(await found({ env: { HOME: folder, XDG_CACHE_HOME: cache } })), '/usr/bin')
  makeVenv(join(kept, `shop-${hash}-py3.12`))
  const poetry = join(kept, `shop-${hash}-py3.12/bin/python`)
  assert.is(await found({ env: { HOME: folder, XDG_CACHE_HOME: cache } }), poetry)
  assert.is(await found({ env: { POETRY_VIRTUALENVS_PATH: kept } }), poetry)
  mkdirSync(join(root, 'venv'))
  assert.is(await found({ env: { POETRY_VIRTUALENVS_PATH: kept } }), poetry)
  makeVenv(join(root, 'venv'))
  assert.is(await found({ env: { POETRY_VIRTUALENVS_PATH: kept } }), join(root, 'venv/bin/python'))
  makeVenv()
  assert.is(await found(), own())
  makeVenv(join(folder, 'uv'))
  assert.is(await found({ env: { UV_PROJECT_ENVIRONMENT: '../uv' } }), join(folder, 'uv/bin/python'))
})

test('a venv that came with a repository is not started, whatever names it but the shell that has activated it (threat 9)', async () => {
  makeVenv(join(root, 'venv'))
  track()
  assert.match(await found(), `${join(root, 'venv')} came with the repository`)
  assert.match(await found({ env: { UV_PROJECT_ENVIRONMENT: 'venv' } }), 'came with the repository')
  assert.is(ran(), false)
  assert.is(await found({ env: { VIRTUAL_ENV: join(root, 'venv') } }), join(root, 'venv/bin/python'))
})

test('a .venv that was made here is started, in a repository that does not track it and without one', async () => {
  makeVenv()
  assert.is(await found(), own())
  writeFileSync(join(root, '.gitignore'), '.venv\n')
  git('init', '-q')
  assert.is(await found(), own())
  git('add', '-A')
  git('commit', '-qm', 'all')
  assert.is(await found(), own())
})

/** A file in the project, and the folders that it is in. */
const put = (path: string) => () => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), '')
}
/** An interpreter in place of the link to one. */
const replaced = () => {
  rmSync(own())
  interpreter(own())
}
const linkedWithin = () => {
  rmSync(own())
  interpreter(join(root, 'evil'))
  symlinkSync('../../evil', own())
}
const bare = () => {
  mkdirSync(join(root, '.venv/bin'), { recursive: true })
  interpreter(own())
}
const linkTo = (place: string) => () => symlinkSync(place, join(root, '.venv'))
const venvAt = (place: string) => () => makeVenv(join(root, place))

/** Ways in which a .venv comes with a project. */
const HOSTILE: readonly (readonly [string, readonly (() => void)[], RegExp])[] = [
  ['a program in its place, and no more', [bare], /holds no pyvenv\.cfg/],
  ['a program of its own, dressed up', [venvAt('.venv'), replaced], /holds an interpreter of its own/],
  [
    'a link to a program elsewhere in the project',
    [venvAt('.venv'), linkedWithin],
    /holds an interpreter of its own/,
  ],
  ['all of it, tracked', [venvAt('.venv'), track], /git tracks it/],
  [
    'one module in it, tracked',
    [put('.venv/lib/python3.12/site-packages/sitecustomize.py'), track, venvAt('.venv')],
    /git tracks it/,
  ],
  ['one module, in other letters', [put('.VENV/lib/x.pth'), track, venvAt('.venv')], /git tracks it/],
  ['a link to a folder that is tracked', [venvAt('tools/env'), track, linkTo('tools/env')], /git tracks it/],
  ['a tracked link to a folder elsewhere', [venvAt('../env'), linkTo('../env'), track], /git tracks it/],
]
for (const [what, make, why] of HOSTILE)
  test(`${what}: it is not run, nothing else is in its place, and the answer says how a person allows it (threat 9)`, async () => {
    for (const step of make) step()
    const answer = await found({ env: { VIRTUAL_ENV: folder } })
    assert.match(answer, /^KERNEL_NOT_FOUND: /)
    assert.match(answer, why)
    assert.match(answer, `adds ${JSON.stringify(root)} to trusted in [kernels]`)
    assert.not.ok(ran())
  })

test('in a folder of a repository, a worktree and a submodule it is found to be tracked as well (threat 9)', async () => {
  const top = root
  const part = join(top, 'part')
  mkdirSync(part)
  makeVenv(join(part, '.venv'))
  track()
  root = part
  assert.match(await found(), /git tracks it/)
  root = top
  git('worktree', 'add', '-q', join(folder, 'tree'))
  root = join(folder, 'tree/part')
  assert.match(await found(), /git tracks it/)
  assert.not.ok(ran())
})

test('every kind of index is read; one that is split or not whole is not taken for an empty one (threat 9)', async () => {
  makeVenv()
  track()
  for (const version of ['2', '3', '4']) {
    writeFileSync(join(root, `new-${version}`), '')
    git('add', '-N', `new-${version}`)
    git('update-index', '--index-version', version)
    assert.is(isTracked(join(root, '.venv')), true, version)
    assert.is(isTracked(join(root, 'new-2')), true, version)
    assert.is(isTracked(join(root, '.ven')), false, version)
    assert.is(isTracked(join(root, 'other')), false, version)
  }
  git('update-index', '--index-version', '2')
  git('update-index', '--split-index')
  assert.match(await found(), /cannot be told: its index is split/)
  for (const bytes of ['', 'DIRC', 'DIRC\0\0\0\u0009\0\0\0\u0001', 'DIRC\0\0\0\u0002\0\0\u0001\0']) {
    writeFileSync(join(root, '.git/index'), bytes)
    assert.match(await found(), /which cannot be told/, JSON.stringify(bytes))
  }
  assert.not.ok(ran())
})

test('an index or a .git file that is a pipe, a device or never ends holds nobody up (threat 9)', async () => {
  makeVenv()
  track()
  const index = join(root, '.git/index')
  rmSync(index)
  execFileSync('mkfifo', [index])
  assert.match(await found(), /cannot be told: .*index cannot be read: it is not a regular file/)
  rmSync(index)
  symlinkSync('/dev/zero', index)
  assert.match(await found(), /cannot be told: .*index cannot be read: it is not a regular file/)
  rmSync(index)
  writeFileSync(index, '')
  truncateSync(index, 1024 ** 4)
  assert.match(await found(), /cannot be told: .*index is larger than/)
  writeFileSync(index, longNames())
  assert.match(await found(), /cannot be told: the names in its index are too long/)
  rmSync(join(root, '.git'), { recursive: true })
  writeFileSync(join(root, '.git'), '')
  truncateSync(join(root, '.git'), 1024 ** 4)
  assert.match(await found(), /cannot be told: .*\.git is larger than/)
  assert.not.ok(ran())
})

/** An index of version 4 whose entries repeat a name of 100 kB, in a few bytes each. */
function longNames(): Buffer {
  const [head, entry] = [Buffer.alloc(12), Buffer.alloc(64)]
  head.write('DIRC')
  head.writeUInt32BE(4, 4)
  head.writeUInt32BE(20_000, 8)
  const first = Buffer.concat([entry.subarray(0, 62), Buffer.from(`\0${'n'.repeat(100_000)}\0`)])
  return Buffer.concat([head, first, ...Array<Buffer>(19_999).fill(entry)])
}

test('git reads no device in the place of a list of a repository, and no objects that it borrows (threat 9)', async () => {
  track()
  const file = join(root, 'a')
  symlinkSync('/dev/zero', join(root, '.git/shallow'))
  assert.is((await openCommits()(file, 4)).length, 1)
  symlinkSync('/dev/zero', join(root, '.git/objects/info/alternates'))
  assert.equal(await openCommits()(file, 4), [])
})

test('blank lines without end in a configuration of git take no time', () => {
  makeVenv()
  track()
  writeFileSync(join(root, '.git/config'), '\n'.repeat(1024 * 1024))
  assert.is(isTracked(join(root, '.venv')), true)
})

test('a repository with hashes of the other length is read', () => {
  git('init', '-q', '--object-format=sha256')
  makeVenv()
  git('add', '-Af')
  assert.is(isTracked(join(root, '.venv')), true)
  assert.is(isTracked(join(root, 'src')), false)
})

test('a person allows it: by the configuration, or by having activated it where the caller was started', async () => {
  makeVenv()
  track()
  assert.is(await found({ trusted: [root] }), own())
  assert.is(await found({ env: { VIRTUAL_ENV: join(root, '.venv') } }), own())
  assert.match(await found({ trusted: [folder, join(root, '.venv')] }), /git tracks it/)
})

test('what remains: an archive that brings a .venv which looks like one made here has it started (what succeeds) (threat 9)', async () => {
  makeVenv(join(folder, 'unpacked/.venv'))
  rmSync(root, { recursive: true })
  renameSync(join(folder, 'unpacked'), root)
  assert.is(await found(), own())
  assert.ok(ran())
})
