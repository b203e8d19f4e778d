import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { COMMANDS } from '../../src/front/cli.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

const test = suite('the compiled code of the command line', { limitMs: 60_000 })

const rig = openRig()
const caches = join(rig.project, 'caches')
const folder = join(caches, 'imago/code')
const env = { XDG_CACHE_HOME: caches }
const version = async () => {
  const { stdout, code } = await rig.imago(['tools', 'inspect'], { env })
  assert.is(code, 0)
  assert.match(stdout, 'inspect')
}
const kept = () => {
  const [name = '', ...others] = readdirSync(folder)
  assert.equal(others, [])
  return join(folder, name)
}
/** What names the file itself, and not its place. */
const identity = (file: string) => statSync(file).ino

test.after(() => rig.close())

test('it is kept at the first use, for this user alone, and used from then on', async () => {
  await version()
  const file = kept()
  assert.is(statSync(folder).mode & 0o777, 0o700)
  assert.is(statSync(file).mode & 0o777, 0o600)
  const before = identity(file)
  await version()
  assert.is(identity(kept()), before)
})

const spoilt: readonly (readonly [string, (file: string) => void])[] = [
  ['is cut off', file => writeFileSync(file, new Uint8Array(100))],
  ['is empty', file => writeFileSync(file, '')],
  ['is of another V8', file => writeFileSync(file, Buffer.alloc(500_000, 7))],
  ['others may have written', file => chmodSync(file, 0o666)],
  // Only root can give a file away.
  ...(process.getuid?.() === 0
    ? [['another user has written', (file: string) => chownSync(file, 1, 1)] as const]
    : []),
]
for (const [what, spoil] of spoilt)
  test(`what ${what} is not used, and made again`, async () => {
    spoil(kept())
    await version()
    const file = kept()
    assert.is(statSync(file).mode & 0o777, 0o600)
    assert.ok(statSync(file).size > 100_000)
    const made = identity(file)
    await version()
    assert.is(identity(kept()), made)
  })

test('what an older build has left goes with the next one that is kept', async () => {
  rmSync(kept())
  writeFileSync(join(folder, '0123456789abcdef-v20.0.0-x64-call.bin'), 'old')
  await version()
  kept()
})

test('a command works where nothing can be kept', async () => {
  rmSync(caches, { recursive: true })
  writeFileSync(caches, 'not a folder')
  await version()
  rmSync(caches)
})

test('a folder of another user is left alone', async () => {
  mkdirSync(folder, { recursive: true })
  // Only root can give a folder away; for others it is one that they may not write.
  if (process.getuid?.() === 0) chownSync(folder, 1, 1)
  else chmodSync(folder, 0o500)
  await version()
  assert.equal(existsSync(folder) && readdirSync(folder), [])
})

/** What a file of the build asks for, besides what Node itself has. */
function askedBy(file: string): readonly string[] {
  const text = readFileSync(join(PACKAGE_ROOT, 'dist/src', file), 'latin1')
  const wanted = new Set([...text.matchAll(/\brequire\d*\("([^"]+)"\)/g)].map(([, name = '']) => name))
  return [...wanted].filter(name => !name.startsWith('node:') && !builtinModules.includes(name)).sort()
}

test('no file of the commands asks for another file but Node’s own and one package', () => {
  assert.equal(askedBy('front/cli.cjs'), ['msgpackr'])
  assert.equal(askedBy('front/call.cjs'), ['msgpackr'])
  assert.equal(askedBy('main.cjs'), [])
})

test('the commands of the smaller file are those that are one call, and it has all that they load', () => {
  const [, list = ''] =
    /const CALLS\b.*= \[(.*)\]/.exec(readFileSync(join(PACKAGE_ROOT, 'src/main.ts'), 'utf8')) ?? []
  const calls = COMMANDS.filter(({ load }) => String(load).includes('commands/call.'))
  assert.equal([...list.matchAll(/\w+/g)].map(String).sort(), calls.map(({ name }) => name).sort())
  const text = readFileSync(join(PACKAGE_ROOT, 'dist/src/front/call.cjs'), 'latin1')
  assert.not.match(text, 'ZodType')
  const left = [...text.matchAll(/\bimport\("([^"]+)"\)/g)].map(([, name = '']) => name)
  assert.ok(left.includes('./commands/policy.js'))
  // Those are beside it, if they should be wanted all the same.
  for (const name of left) assert.ok(existsSync(join(PACKAGE_ROOT, 'dist/src/front', name)), name)
  assert.equal(left.includes('./commands/call.js'), false)
})

test('a command that is a call loads nothing of msgpack, and no loader of modules', async () => {
  const list = join(rig.project, 'loaded.cjs')
  writeFileSync(
    list,
    `process.on('exit', () => {
      const loaded = [...process.moduleLoadList, ...Object.keys(require.cache)]
      require('node:fs').writeFileSync(${JSON.stringify(join(rig.project, 'loaded.json'))}, JSON.stringify(loaded))
    })`,
  )
  const { code } = await rig.imago(['tools', 'inspect'], {
    env: { ...env, NODE_OPTIONS: `--require=${list}` },
  })
  assert.is(code, 0)
  const loaded: readonly string[] = JSON.parse(readFileSync(join(rig.project, 'loaded.json'), 'utf8'))
  assert.ok(loaded.includes('NativeModule net'))
  assert.equal(
    loaded.filter(name => /msgpackr|esm\/load$/.test(name)),
    [],
  )
})
