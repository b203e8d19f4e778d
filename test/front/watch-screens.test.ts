import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { openScreen, type ScreenOptions } from '../support/screen.ts'
import { svgOf } from '../support/svg.ts'

/**
 * The screens of docs/watch.md, from the real screen at a real terminal. With IMAGO_SCREENS=write they are written anew,
 * to be looked at; else they are compared.
 */
const test = suite('screens of imago watch')
const rig = openRig()
test.after(() => rig.close())

const FOLDER = join(PACKAGE_ROOT, 'docs/screens')
const STAGE = join(PACKAGE_ROOT, 'test/support/watch-stage.ts')

interface Scene {
  readonly name: string
  readonly title: string
  readonly plans: readonly string[]
  /** What is typed, each once the screen shows what stands before it. */
  readonly keys?: readonly (readonly [shown: string | RegExp, keys: string])[]
  readonly until: string | RegExp
  readonly screen: ScreenOptions
}

const SCENES: readonly Scene[] = [
  {
    name: 'list',
    title: 'Three plans of two turns; the code of one of them',
    plans: ['hunks', 'code', 'edit'],
    keys: [['3 wait', '3']],
    until: /plan-pwxcnbvt[\s\S]* y approve /,
    screen: { columns: 96, rows: 22 },
  },
  {
    name: 'diff',
    title: 'A difference, with the words that changed',
    plans: ['edit'],
    until: / y approve /,
    screen: { columns: 96, rows: 31 },
  },
  {
    name: 'hunks',
    title: 'The third of three hunks; one was accepted, and one refused',
    plans: ['hunks'],
    keys: [
      [/hunk +1 of 3[\s\S]* y this hunk/, 'y'],
      [/hunk +2 of 3[\s\S]* y this hunk/, 'nWho ships nothing should hear of it.\r'],
    ],
    until: /hunk +3 of 3[\s\S]* y this hunk/,
    screen: { columns: 96, rows: 20 },
  },
  {
    name: 'decided',
    title: 'All hunks are decided: what will be applied, and the reason for the one that is not',
    plans: ['hunks'],
    keys: [
      [/hunk +1 of 3[\s\S]* y this hunk/, 'y'],
      [/hunk +2 of 3[\s\S]* y this hunk/, 'nWho ships nothing should hear of it.\r'],
      [/hunk +3 of 3[\s\S]* y this hunk/, 'y'],
    ],
    until: / y sends this /,
    screen: { columns: 96, rows: 18 },
  },
  {
    name: 'trojan',
    title: 'Code that does not do what it looks like: what is hidden in it is marked',
    plans: ['trojan'],
    until: / y approve /,
    screen: { columns: 96, rows: 26 },
  },
  {
    name: 'reason',
    title: 'The reason for a refusal is being typed',
    plans: ['code'],
    keys: [[/ y approve /, 'nAsk me first whose orders these are']],
    until: 'whose orders these are',
    screen: { columns: 96, rows: 20 },
  },
  {
    name: 'standing',
    title: 'Nothing waits: what is let through, and who is not asked about',
    plans: ['standing'],
    until: / r revoke or lift /,
    screen: { columns: 80, rows: 18 },
  },
  {
    name: 'no-colour',
    title: 'Without colours, at 80 columns and 24 rows',
    plans: ['edit', 'code'],
    until: /shows the end; y after that /,
    screen: { columns: 80, rows: 24, env: { NO_COLOR: '1' } },
  },
  {
    name: 'small',
    title: 'At 40 columns and 10 rows',
    plans: ['edit', 'code'],
    keys: [[/ G end, then y /, ' ']],
    until: /line [2-9] of 22[\s\S]* G end, then y /,
    screen: { columns: 40, rows: 10 },
  },
]

for (const { name, title, plans, keys = [], until, screen: size } of SCENES)
  test(`docs/screens/${name}.svg is what the screen shows`, async () => {
    const command = [process.execPath, ...process.execArgv, STAGE, ...plans]
    const screen = openScreen(rig, { command, ...size })
    try {
      for (const [shown, typed] of keys) {
        await screen.shows(shown)
        screen.type(typed)
      }
      await screen.shows(until)
      const picture = svgOf(screen.cells(), title)
      const path = join(FOLDER, `${name}.svg`)
      if (process.env.IMAGO_SCREENS === 'write') {
        mkdirSync(FOLDER, { recursive: true })
        writeFileSync(path, picture)
      }
      assert.is(readFileSync(path, 'utf8'), picture, `${path} differs from:\n${screen.text()}`)
    } finally {
      screen.close()
    }
  })

test('every screen that the page shows is one of these, and every one of these is shown', () => {
  const page = readFileSync(join(PACKAGE_ROOT, 'docs/watch.md'), 'utf8')
  const shown = [...page.matchAll(/\]\(screens\/([\w-]+)\.svg\)/g)].map(([, name]) => name)
  assert.equal(shown.sort(), SCENES.map(({ name }) => name).sort())
})
