import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { redraft } from '../../src/front/person-editor.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite("the person's own editor")

const DRAFT = { text: 'before\n', name: 'hunk.diff' }

/** An environment with these variables, in which nothing is known of the person's own. */
const withEnv = (env: Readonly<Record<string, string>>) => ({ PATH: process.env.PATH, TERM: 'xterm', ...env })

const edit = (env: Readonly<Record<string, string>>, draft = DRAFT) => redraft(draft, withEnv(env))

test('a text that was left as it was is nothing to be done', async () => {
  assert.equal(await edit({ EDITOR: 'true' }), { type: 'unchanged' })
})

test('what an editor wrote that ended badly is dropped, and it is said how it ended', async () => {
  const command = 'sh -c \'printf bad > "$0"; exit 3\''
  const left = await edit({ EDITOR: command })
  const why = `The editor ${command} ended with code 3: what it wrote was dropped.`
  assert.equal(left, { type: 'failed', why })
  const killed = await edit({ EDITOR: 'kill -9 $$ #' })
  assert.equal(killed, {
    type: 'failed',
    why: 'The editor kill -9 $$ # ended by SIGKILL: what it wrote was dropped.',
  })
})

for (const [what, command] of [
  ['that is not there', 'no-such-editor-here 2>/dev/null'],
  ['that is no program', '/ 2>/dev/null'],
] as const)
  test(`an editor ${what} is named, and it is said how another one is chosen`, async () => {
    const missing = await edit({ EDITOR: command })
    const why = `The shell could not run the editor ${command}. Set $VISUAL or $EDITOR to the one that you use.`
    assert.equal(missing, { type: 'failed', why })
  })

test('VISUAL comes before EDITOR, but not at a terminal that has no screen', async () => {
  const both = { VISUAL: 'printf visual >', EDITOR: 'printf editor >' }
  assert.equal(await edit(both), { type: 'text', text: 'visual' })
  assert.equal(await edit({ ...both, TERM: 'dumb' }), { type: 'text', text: 'editor' })
  const none = await edit({ TERM: 'dumb' })
  assert.match(none.type === 'failed' ? none.why : '', 'no screen for vi: set EDITOR')
})

/** Runs `use` with a folder, which goes. */
async function withFolder(use: (folder: string) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'imago-test-'))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('the words of an editor are those of a shell, as git takes them, and the file is one word of its own', () =>
  withFolder(async folder => {
    const said = join(folder, 'said')
    const editor = join(folder, 'my editor')
    writeFileSync(editor, `#!/bin/sh\nprintf '%s|' "$@" > '${said}'\n`)
    chmodSync(editor, 0o700)
    const tricky = { text: 'x', name: 'a b$(exit 1)`;.py' }
    await edit({ EDITOR: `'${editor}' -w "two words"` }, tricky)
    const words = readFileSync(said, 'utf8').split('|')
    assert.equal(words.slice(0, 2), ['-w', 'two words'])
    assert.is(words[2]?.endsWith('/a b$(exit 1)`;.py'), true, words[2])
    assert.is(words.length, 4)
  }))

test('the file lies in a folder of its own that only this user can enter, and both go with the editor', () =>
  withFolder(async folder => {
    const seen = join(folder, 'seen')
    const look = `sh -c 'stat -c %a "$(dirname "$0")" "$0" > "${seen}"; echo "$0" >> "${seen}"; exit "$IMAGO_TEST_EXIT"'`
    for (const exit of ['0', '1']) {
      await edit({ EDITOR: look, IMAGO_TEST_EXIT: exit })
      const [mode, fileMode, file = ''] = readFileSync(seen, 'utf8').trim().split('\n')
      assert.equal([mode, fileMode], ['700', '600'])
      assert.throws(() => statSync(join(file, '..')), /ENOENT/)
    }
  }))

test('a file that has grown beyond all measure is not read', async () => {
  const grown = await edit({ EDITOR: 'truncate -s 20000000' })
  assert.match(grown.type === 'failed' ? grown.why : '', '20000000 bytes')
})

test('no folder is left where there is none to be made', () =>
  withFolder(async folder => {
    const before = process.env.TMPDIR
    process.env.TMPDIR = join(folder, 'not-there')
    try {
      const got = await edit({ EDITOR: 'true' })
      assert.match(got.type === 'failed' ? got.why : '', 'could not be used')
    } finally {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    }
    assert.equal(readdirSync(folder), [])
  }))
