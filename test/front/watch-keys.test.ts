import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import type { ScreenOf } from '../support/screen.ts'
import { codeOf, openSeatRigs } from '../support/watching.ts'

/** Every key that answers, at a real terminal, with a real daemon and real files. */
const test = suite('keys of imago watch')

const OFFERED = / y approve /
const TEN = Array.from({ length: 30 }, (_, n) => `line_${n} = ${n}\n`).join('')

const { withSeatScreen, close } = openSeatRigs(openRig)
test.after(close)

const withFiles = (use: (parts: { rig: Rig; screen: ScreenOf }) => Promise<void>) =>
  withSeatScreen({}, async parts => {
    for (const name of ['a.py', 'b.py']) writeFileSync(join(parts.rig.project, name), TEN)
    await use(parts)
  })

const text = (rig: Rig, path: string) => readFileSync(join(rig.project, path), 'utf8')

/** One line of that file. */
async function editing(rig: Rig, path: string, to = '120') {
  const client = await rig.connect()
  const args = { path, old_str: 'line_12 = 12', new_str: `line_12 = ${to}` }
  return { client, args, answer: client.call({ tool: 'edit_file', args }) }
}

/** Two calls of one client at once: a turn. */
async function turnOf(rig: Rig) {
  const client = await rig.connect()
  const call = (path: string) =>
    client.call({ tool: 'edit_file', args: { path, old_str: 'line_12 = 12', new_str: 'line_12 = 120' } })
  return Promise.all([call('a.py'), call('b.py')])
}

test('a line of a file is approved with one key at 80×24', () =>
  withFiles(async ({ rig, screen }) => {
    const { answer } = await editing(rig, 'a.py')
    await screen.shows(OFFERED)
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
    assert.match(text(rig, 'a.py'), 'line_12 = 120')
  }))

test('a approves the turn, once all of it was on the screen', () =>
  withFiles(async ({ rig, screen }) => {
    const answers = turnOf(rig)
    await screen.shows(/ a approve turn /)
    screen.type('a')
    await screen.shows('All 2 plans of this turn')
    await screen.shows(/ G shows the end; y after that /)
    screen.type('G')
    await screen.shows(/ y approve all 2 /)
    screen.type('y')
    assert.equal((await answers).map(codeOf), ['ok', 'ok'])
    for (const path of ['a.py', 'b.py']) assert.match(text(rig, path), 'line_12 = 120')
  }))

test('d denies the turn with one reason', () =>
  withFiles(async ({ rig, screen }) => {
    const answers = turnOf(rig)
    await screen.shows(/ d deny turn /)
    screen.type('d')
    await screen.shows('Why none of these 2?')
    screen.type('not on Fridays\r')
    for (const answer of await answers) {
      assert.is(codeOf(answer), 'denied')
      assert.match(JSON.stringify(answer), 'not on Fridays')
    }
    assert.is(text(rig, 'a.py') + text(rig, 'b.py'), TEN + TEN)
  }))

test('g lets the next one through, which the idle screen says, and r and its number end that', () =>
  withFiles(async ({ rig, screen }) => {
    const { answer, client, args } = await editing(rig, 'a.py')
    await screen.shows(/ g grant /)
    screen.type('g')
    await screen.shows(/^ +1 +a\.py$/m)
    await screen.shows(/ 1 a\.py {2}/)
    screen.type('1')
    assert.is(codeOf(await answer), 'ok')
    const again = { ...args, old_str: 'line_12 = 120', new_str: 'line_12 = 121' }
    assert.is(codeOf(await client.call({ tool: 'edit_file', args: again })), 'ok')
    await screen.shows(/1 +edit_file on a\.py for .* more, let through\s+once/)
    screen.type('r')
    await screen.shows(/ 1 revoke /)
    screen.type('1')
    await screen.shows('Nothing is let through without asking')
    assert.match((await rig.imago(['approvals', '--json'])).stdout, /"grants": ?\[\]/)
    screen.type('q')
    const asked = client.call({ tool: 'edit_file', args: { ...args, old_str: 'line_12 = 121' } })
    await screen.shows(OFFERED)
    screen.type('nenough\r')
    assert.is(codeOf(await asked), 'denied')
  }))

test('what is let be after refusals is on the idle screen, and r and l lift that', () =>
  withFiles(async ({ rig, screen }) => {
    const client = await rig.connect()
    const call = (to: string) =>
      client.call({ tool: 'edit_file', args: { path: 'a.py', old_str: 'line_12 = 12', new_str: to } })
    const refused = async (to: string) => {
      const answer = call(to)
      await screen.shows(new RegExp(`^\\| \\+${to}$[^]* y approve `, 'm'))
      screen.type('n\r')
      return codeOf(await answer)
    }
    for (const to of ['one', 'two', 'three']) assert.is(await refused(to), 'denied')
    await screen.shows(/Nothing of .* is asked for .* more: 3 were\s+refused/)
    assert.is(codeOf(await call('four')), 'busy')
    screen.type('r')
    await screen.shows(/ l lift the pause /)
    screen.type('l')
    await screen.shows('nobody is let be')
    screen.type('q')
    assert.is(await refused('five'), 'denied')
  }))

test('j and k go from plan to plan, and what was not answered waits', () =>
  withFiles(async ({ rig, screen }) => {
    const first = await editing(rig, 'a.py')
    await screen.shows(OFFERED)
    const second = await editing(rig, 'b.py')
    await screen.shows('2 wait')
    screen.type('j')
    await screen.shows(/^\| --- a\/b\.py/m)
    screen.type('k')
    await screen.shows(/^\| --- a\/a\.py/m)
    screen.type('j')
    await screen.shows(/^\| --- a\/b\.py[\s\S]* y approve /m)
    screen.type('y')
    assert.is(codeOf(await second.answer), 'ok')
    await screen.shows(/^\| --- a\/a\.py[\s\S]* y approve /m)
    assert.is(text(rig, 'a.py'), TEN)
    screen.type('y')
    assert.is(codeOf(await first.answer), 'ok')
  }))

/** Two changes of one file that are one hunk, and another file. */
async function proposing(rig: Rig) {
  writeFileSync(join(rig.project, 'a.py'), 'one = 1\nmiddle = 0\ntwo = 2\n')
  const client = await rig.connect()
  const edits = [
    { path: 'a.py', old_str: 'one = 1\nmiddle = 0\ntwo = 2', new_str: 'one = 11\nmiddle = 0\ntwo = 22' },
    { path: 'b.py', old_str: 'line_12 = 12', new_str: 'line_12 = 120' },
  ]
  return client.call({ tool: 'propose_file_edit', args: { edits } })
}

test('s splits a hunk, and one of its parts is done without the other', () =>
  withFiles(async ({ rig, screen }) => {
    const answer = proposing(rig)
    await screen.shows(/ s split /)
    screen.type('s')
    await screen.shows(/hunk +1 of 3 · a\.py[\s\S]* y this hunk /)
    screen.type('y')
    await screen.shows(/hunk +2 of 3[\s\S]* y this hunk /)
    screen.type('D')
    await screen.shows('Why none of these hunks?')
    screen.type('enough\r')
    await screen.shows(/1 of 3 hunks is applied[\s\S]* y sends this /)
    screen.type('y')
    await answer
    assert.is(text(rig, 'a.py'), 'one = 11\nmiddle = 0\ntwo = 2\n')
    assert.is(text(rig, 'b.py'), TEN)
    await screen.shows(/1 of 3 hunks approved/)
  }))

test('A takes all hunks of all files, and q before the last y asks first', () =>
  withFiles(async ({ rig, screen }) => {
    const answer = proposing(rig)
    await screen.shows(/ A all /)
    screen.type('A')
    await screen.shows('All 2 hunks are applied')
    screen.type('q')
    await screen.shows(/2 decisions are not sent: leave\?[\s\S]* n stay/)
    screen.type('n')
    await screen.shows('All 2 hunks are applied')
    screen.type('G')
    await screen.shows(/ y sends this /)
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
    assert.match(text(rig, 'a.py'), 'two = 22')
    assert.match(text(rig, 'b.py'), 'line_12 = 120')
  }))

test('a plan that goes out of date is gone from the screen, with the cause, and y does not hit the next (fault 1)', () =>
  withFiles(async ({ rig, screen }) => {
    const { answer } = await editing(rig, 'a.py')
    await screen.shows(OFFERED)
    const next = await editing(rig, 'b.py')
    await screen.shows('2 wait')
    writeFileSync(join(rig.project, 'a.py'), TEN.replace('line_12', 'other_12'))
    await screen.shows(/plan-\w+ needs no answer any more\.\n.*out of date: a\.py /)
    screen.type('y')
    assert.is(codeOf(await answer), 'stale_plan')
    screen.type('\r')
    await screen.shows(/^\| --- a\/b\.py[\s\S]* y approve /m)
    assert.is(text(rig, 'b.py'), TEN)
    screen.type('y')
    assert.is(codeOf(await next.answer), 'ok')
    screen.type('h')
    await screen.shows(/What became of plans here[\s\S]*out of date: a\.py /)
    await until(() => text(rig, 'b.py').includes('line_12 = 120'), 'the second plan')
  }))
