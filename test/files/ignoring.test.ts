import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { globsOf, NO_RULES } from '../../src/files/ignore.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { seen, walked } from '../support/walks.ts'

const test = suite('ignore files', { limitMs: 50_000 })

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
})

test.after.each(() => rig.close())

const project = () => rig.files.of(rig.root)

/** What git leaves over of files that it does not know, which is what its ignore files do not name. */
function gitFiles(root: string): string[] {
  const env = {
    PATH: process.env.PATH,
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'core.excludesFile=/dev/null', ...args], { cwd: root, env, encoding: 'utf8' })
  git('init', '-q', '--template=')
  return git('ls-files', '-z', '--others', '--exclude-standard').split('\0').filter(Boolean).sort()
}

const NAMES = ['a', 'b', 'c.log', 'd e', '!x', '#y', '[z]', 'build', 'é', 'A']

const PARTS = [
  ...'a b * ** *.log build ? [ab] [!a] c* \\!x \\#y'.split(' '),
  ...['d\\ e', 'd e'],
  ...'\\[z] é [[:alpha:]] [a-c] []a] [a/b] [ b** \\a b\\'.split(' '),
]

const someOf = (words: readonly string[]) => fc.constantFrom(...words)

const line = fc
  .record({
    not: fc.boolean(),
    top: fc.boolean(),
    parts: fc.array(someOf(PARTS), { minLength: 1, maxLength: 3 }),
    end: someOf(['', '', '/', ' ', '/ ']),
  })
  .map(({ not, top, parts, end }) => `${not ? '!' : ''}${top ? '/' : ''}${parts.join('/')}${end}`)

const tree = fc.record({
  files: fc.uniqueArray(fc.array(someOf(NAMES), { minLength: 1, maxLength: 4 }), {
    minLength: 3,
    maxLength: 14,
    selector: parts => parts.join('/'),
  }),
  ignoring: fc.array(
    fc.record({
      folder: fc.array(someOf(NAMES), { maxLength: 2 }),
      lines: fc.array(line, { minLength: 1, maxLength: 4 }),
      ends: someOf(['\n', '\r\n']),
    }),
    { maxLength: 3 },
  ),
  exclude: fc.array(line, { maxLength: 2 }),
})

test('what a walk shows is what git leaves over, whatever the ignore files say', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async ({ files, ignoring, exclude }) => {
      const root = realpathSync(mkdtempSync(join(tmpdir(), 'ignored-')))
      try {
        for (const parts of files) put(root, parts.join('/'), '')
        for (const { folder, lines, ends } of ignoring)
          put(root, [...folder, '.gitignore'].join('/'), lines.join(ends))
        put(root, '.git/info/exclude', exclude.join('\n'))
        const found = await walked(rig.files.of(root))
        const shown = found.entries.filter(({ kind }) => kind !== 'folder').map(each => each.shown)
        assert.equal(shown.sort(), gitFiles(root))
      } finally {
        rmSync(root, { recursive: true, force: true })
      }
    }),
    { numRuns: isLong ? 150 : 40, seed: 20_261_122 },
  )
})

/** A file, where its path does not lead through another file. */
function put(root: string, path: string, text: string): void {
  try {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  } catch (error) {
    if (!/EEXIST|ENOTDIR|EISDIR/.test(String(error))) throw error
  }
}

test('what is ignored can be shown, and is marked', async () => {
  rig.put('.gitignore', '*.log\nbuild/\n')
  rig.put('a.log', '')
  rig.put('build/x', '')
  rig.put('b', '')
  const { paths, walk } = await walked(project())
  assert.equal([paths, walk.left.ignored], [['.gitignore', 'b'], 2])
  const all = await walked(project(), { ignored: true })
  assert.equal(all.paths, ['.gitignore', 'a.log', 'b', 'build/', 'build/x'])
  assert.equal(
    all.entries.map(({ ignored }) => ignored),
    [false, true, false, true, true],
  )
})

test('.git is counted and not walked, and shown and not walked where all is asked for', async () => {
  rig.put('.git/config', 'secret')
  rig.put('sub/.git', 'gitdir: ../elsewhere')
  const { paths, walk } = await walked(project())
  assert.equal([paths, walk.left.ignored], [['sub/'], 2])
  assert.equal((await walked(project(), { ignored: true })).paths, ['.git/', 'sub/', 'sub/.git'])
})

test('nothing from outside of a repository holds in one that lies in it', async () => {
  rig.put('.gitignore', '*.log\n')
  rig.put('vendor/.git/info/exclude', 'b\n')
  for (const name of ['vendor/a.log', 'vendor/b', 'vendor/c']) rig.put(name, '')
  assert.equal((await walked(project())).paths, ['.gitignore', 'vendor/', 'vendor/a.log', 'vendor/c'])
})

test('the rules of folders above hold where a walk begins below, and a folder that is named is shown', async () => {
  rig.put('.gitignore', '/src/lib/*.log\nout/\n')
  for (const name of ['src/lib/a.log', 'src/lib/b', 'out/deep/x.log', 'out/.gitignore']) rig.put(name, '')
  rig.put('out/.gitignore', '*')
  assert.equal((await walked(project(), { path: 'src/lib' })).paths, ['src/lib/b'])
  const named = await walked(project(), { path: 'out/deep' })
  assert.equal(named.paths, ['out/deep/x.log'])
  assert.match(named.walk.remarks.join(), 'ignored itself (.gitignore:2: out/)')
})

test('get_file_info names the line that leaves a file out', async () => {
  rig.put('.gitignore', '# logs\n*.log\n')
  rig.put('src/.gitignore', '!keep.log\n')
  for (const name of ['src/a.log', 'src/keep.log', 'b']) rig.put(name, '')
  const order = { signal: new AbortController().signal, ms: 60_000 }
  const of = async (path: string) => seen(await project().info(path, order)).ignoredBy
  assert.equal(
    [await of('src/a.log'), await of('src/keep.log'), await of('b')],
    ['.gitignore:2: *.log', null, null],
  )
})

test('an ignore file that is a link, a pipe or too large is not used, and that is said (threat 23)', async () => {
  writeFileSync(join(rig.outside, 'rules'), '*')
  symlinkSync(join(rig.outside, 'rules'), rig.at('.gitignore'))
  mkdirSync(rig.at('pipe'))
  execFileSync('mkfifo', [rig.at('pipe/.gitignore')])
  rig.put('large/.gitignore', '*\n'.repeat(200_000))
  for (const name of ['a', 'pipe/b', 'large/c']) rig.put(name, '')
  const { paths, walk } = await walked(project())
  for (const path of ['a', 'pipe/b', 'large/c']) assert.ok(paths.includes(path), path)
  for (const file of ['.gitignore', 'pipe/.gitignore', 'large/.gitignore'])
    assert.ok(
      walk.remarks.some(remark => remark.startsWith(`${file} was not used`)),
      file,
    )
})

test('a line of an ignore file that is too long or too wild is not used, and that is said', async () => {
  const spread = Array.from({ length: 5 }, (_, at) => `a/**/${'b/'.repeat(450)}${at}`)
  rig.put('.gitignore', ['x'.repeat(2_000), ...spread, 'a/**/b/**/c/**/d', '*.log'].join('\n'))
  for (const name of ['b.log', 'a/b/x/c/d']) rig.put(name, '')
  const { paths, walk } = await walked(project())
  assert.equal(paths, ['.gitignore', 'a/', 'a/b/', 'a/b/x/', 'a/b/x/c/'])
  assert.match(walk.remarks.join(), '2 lines were not used')
})

const fileOf = (text: string, folder = '') => ({ folder, shown: '.gitignore', text, isQuoted: true })

/** As many lines as an ignore file of the largest size has, each as long and as wild as one may be. */
const costly = (folder: string) =>
  fileOf(
    Array.from({ length: 255 }, (_, index) => `${'*a*b'.repeat(250)}${folder}${index}`).join('\n'),
    folder,
  )

test('rules beyond the characters that are held are not used, and counted, however deep they lie (threat 23)', () => {
  let rules = NO_RULES
  let folder = ''
  for (let depth = 0; depth < 16; depth++) {
    rules = rules.with(costly(folder))
    folder = folder === '' ? 'd' : `${folder}/d`
  }
  assert.is(rules.unused, 16 * 255 - 16)
  const name = `${'ab'.repeat(250)}15`
  assert.equal(
    [rules.ignoredBy(name, false)?.slice(0, 20), rules.ignoredBy('ab', false)],
    ['.gitignore:16: *a*b*', undefined],
  )
})

test('rules beyond the number that is held are not used, and counted, those without wildcards last', () => {
  const many = NO_RULES.with(fileOf(Array.from({ length: 5_000 }, (_, index) => `name-${index}`).join('\n')))
  assert.equal([many.ignoredBy('name-1', false), many.unused], ['.gitignore:2: name-1', 1_000])
  assert.is(many.ignoredBy('name-4500', false), undefined)
  const lines = (begin: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${begin}${'x'.repeat(500)}${index}`)
  const rules = NO_RULES.with(fileOf([...lines('*', 100), ...lines('', 1_000)].join('\n')))
  assert.ok(rules.unused > 68 && rules.unused < 1_100)
  assert.ok(rules.ignoredBy(`${'x'.repeat(500)}200`, false))
})

test('of the ignore files that hold in a folder no more is read than a bound, and that is said', async () => {
  const comments = `# ${'x'.repeat(100)}\n`.repeat(2_500)
  const folders = Array.from({ length: 6 }, (_, depth) => 'd/'.repeat(depth))
  for (const folder of folders) {
    rig.put(`${folder}.gitignore`, `${comments}*.log\n`)
    rig.put(`${folder}x`, '')
  }
  const { walk } = await walked(project(), { path: 'd/d/d/d/d' })
  assert.match(walk.remarks.join(), 'd/d/d/d/.gitignore was not used')
})

test('in a folder that lies deeper than any project goes no ignore file holds, and that is said', async () => {
  const deep = 'd/'.repeat(130)
  rig.put('.gitignore', '*.log')
  rig.put(`${deep}x.log`, '')
  const { paths, walk } = await walked(project(), { path: deep.slice(0, -1) })
  assert.equal(paths, [`${deep}x.log`])
  assert.match(walk.remarks.join(), 'Ignore files were not used')
})

test('a line of an ignore file that the policy keeps from being read is named, and not quoted', async () => {
  rig.put('.gitignore', 'secret-*\n')
  rig.put('src/.gitignore', '*.log\n')
  for (const name of ['secret-a', 'src/b.log', 'secret-folder/x']) rig.put(name, '')
  const shows = { has: (path: string) => path !== rig.at('.gitignore'), meets: () => undefined }
  const order = { signal: new AbortController().signal, ms: 60_000 }
  const of = async (path: string) => seen(await rig.files.of(rig.root, shows).info(path, order))
  assert.equal(
    [(await of('secret-a')).ignoredBy, (await of('src/b.log')).ignoredBy],
    ['.gitignore:1', 'src/.gitignore:1: *.log'],
  )
  const { remarks } = await of('secret-folder')
  assert.match(remarks.join(), '(.gitignore:1)')
})

test('the globs of a call know braces, and say why they cannot be used', () => {
  const has = (glob: string, path: string) => {
    const globs = globsOf([glob])
    return globs.type === 'globs' && globs.has(path, false)
  }
  assert.ok(has('*.{ts,tsx}', 'src/a.tsx'))
  assert.ok(has('{src,test}/**/*.{js,{ts,mts}}', 'test/x/a.mts'))
  assert.ok(has('{a}', '{a}'))
  assert.not.ok(has('*.{ts,tsx}', 'a.js'))
  assert.not.ok(has('*.TS', 'a.ts'))
  assert.ok(has('a/**/b/**/c/**/d', 'a/x/b/c/y/d'))
  const many = (count: number, glob: string) => Array.from({ length: count }, (_, at) => `${glob}${at}`)
  const bad = [
    ['{a,b}'.repeat(9)],
    ['x'.repeat(1_025)],
    many(300, 'n'),
    many(50, '*a*b'.repeat(100)),
    many(12, `a/**/${'b/'.repeat(190)}`),
    [`${'*a*b'.repeat(90)}{${many(100, '').join()}}`],
  ]
  for (const globs of bad) assert.is(globsOf(globs).type, 'no_globs', globs[0])
})
