import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { EDITED, openProvingRig, PRICE, type ProvingRig } from '../support/proving-rig.ts'

const test = suite('what runs is the text of a commit', { limitMs: 60_000 })

let proving: ProvingRig
test.before(async () => {
  proving = await openProvingRig()
})
test.after(() => proving?.close())

const run = (expr: string) => proving.run(expr)
const defined: ProvingRig['defined'] = (symbol, args) => proving.defined(symbol, args)

let made = 0

/** A repository with a file in it, which the image has imported; each text of the file is a commit. */
async function committed(texts: readonly string[]) {
  const name = `committed_${++made}`
  const top = join(proving.folder, name)
  mkdirSync(top)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: top, env: GIT_ENV }).toString().trim()
  git('init', '-q')
  const path = join(top, `${name}.py`)
  const write = (text: string) => writeFileSync(path, text)
  const commits = texts.map(text => {
    write(text)
    git('add', '.')
    git('commit', '-q', '-m', 'x')
    return git('rev-parse', 'HEAD')
  })
  await run(`sys.path.insert(0, ${JSON.stringify(top)}); importlib.invalidate_caches()`)
  return { name, top, path, write, git, commits }
}

const GIT_ENV = {
  PATH: process.env.PATH,
  HOME: '/nowhere',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
}

test('the text of one of the last commits is shown where it is what runs', async () => {
  const { name, write, git, commits } = await committed(['# Old.\n', PRICE])
  await run(`import ${name}`)
  write(EDITED)
  const { current, proof, source, markdown } = await defined(`${name}.price`)
  assert.equal([current, source], [true, PRICE.trimEnd()])
  assert.is(proof?.from, `commit ${commits[1]?.slice(0, 7)}`)
  assert.match(markdown, `Shown is the text that runs, of commit ${commits[1]?.slice(0, 7)}.`)
  git('commit', '-qam', 'x')
  git('pack-refs', '--all')
  assert.is((await defined(`${name}.price`)).proof?.from, `commit ${commits[1]?.slice(0, 7)}`)
})

test('a repository runs nothing for it, by none of its settings', async () => {
  const { name, top, write, git } = await committed([PRICE])
  await run(`import ${name}`)
  const ran = join(proving.folder, 'it-ran')
  const script = join(top, 'script')
  writeFileSync(script, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o700 })
  for (const key of [
    'core.fsmonitor',
    'core.pager',
    'diff.external',
    'diff.x.textconv',
    'gpg.program',
    'core.sshCommand',
    'filter.x.smudge',
    'core.alternateRefsCommand',
  ])
    git('config', key, script)
  git('config', 'log.showSignature', 'true')
  git('config', 'core.hooksPath', top)
  git('config', 'extensions.partialClone', 'origin')
  git('config', 'remote.origin.url', `ext::${script}`)
  writeFileSync(join(top, '.gitattributes'), '* filter=x diff=x\n')
  write(EDITED)
  assert.match((await defined(`${name}.price`)).proof?.from ?? '', /^commit /)
  assert.not.ok(existsSync(ran))
})

test('a repository that is broken, or hangs, is as none', async () => {
  const { name, top, write } = await committed([PRICE])
  await run(`import ${name}`)
  write(EDITED)
  rmSync(join(top, '.git', 'HEAD'))
  execFileSync('mkfifo', [join(top, '.git', 'HEAD')])
  assert.is((await defined(`${name}.price`)).current, false)
  rmSync(join(top, '.git', 'HEAD'))
  writeFileSync(join(top, '.git', 'HEAD'), `${'1'.repeat(40)}\n`)
  assert.is((await defined(`${name}.price`)).current, false)
})

test('a machine without git answers as well', async () => {
  const { name, write } = await committed([PRICE])
  await run(`import ${name}`)
  write(EDITED)
  const { PATH } = process.env
  process.env.PATH = '/nowhere'
  try {
    assert.is((await defined(`${name}.price`)).current, false)
  } finally {
    process.env.PATH = PATH
  }
})
