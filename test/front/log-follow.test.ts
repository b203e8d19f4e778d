import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { assert, suite } from '../support/harness.ts'
import {
  dangerous,
  ENTRIES,
  id,
  journalWith,
  on,
  planned,
  segmentsOf,
  shown,
} from '../support/journal-sample.ts'
import { openRig, until } from '../support/rig.ts'

const test = suite('imago log --follow', { limitMs: 60_000 })

const rig = openRig()

test.after(() => rig.close())

test('of a long journal only the end is read where the last calls are wanted', async () => {
  const many = Array.from({ length: 400 }, (_, index): JournalEntry[] => [
    { type: 'dispatched', call: id(`c${index}`), tool: 'eval_expr', args: { expr: `call ${index}` }, ...on },
    { type: 'ended', call: id(`c${index}`), outcome: 'ok', elapsed_ms: 1 },
  ]).flat()
  const { log, dir } = await journalWith(rig, many, { segmentBytes: 8_000 })
  // Whoever reads the first file fails.
  const [first = ''] = segmentsOf(dir)
  renameSync(join(dir, first), join(dir, 'set-aside'))
  mkdirSync(join(dir, first))
  const last = await log('--count', '30')
  assert.is(last.code, 0)
  assert.equal(
    shown(last.stdout).map(line => /call \d+$/.exec(line)?.[0]),
    Array.from({ length: 30 }, (_, index) => `call ${370 + index}`),
  )
  assert.is((await log('--json', '--count', '5')).code, 0)
  assert.is((await log('--since', '2026-01-02T15:00:00Z')).code, 0)
  assert.is((await log('--count', 'all')).code, 2)
})

test('--follow shows what was and what comes, across files, asks at once and long calls before they end; Ctrl-C ends it', async () => {
  const { stateDir, env } = await journalWith(rig, ENTRIES.slice(0, 3))
  for (const json of [false, true]) {
    const following = rig.begin(['log', '--follow', '--count', 'all', ...(json ? ['--json'] : [])], { env })
    await following.says(json ? /"exception"/ : / exception .*\n.* inspect /)
    const journal = openJournal({ stateDir, segmentBytes: 1_200 })
    for (let index = 0; index < 20; index++) {
      journal.write({
        type: 'dispatched',
        call: id(`n${index}`),
        tool: 'eval_expr',
        args: { expr: `new ${index} ${json}!` },
        ...on,
      })
      journal.write({ type: 'ended', call: id(`n${index}`), outcome: 'ok', elapsed_ms: 1 })
    }
    await following.says(json ? /new 19 true!/ : /new 19 false!/)
    for (let index = 0; index < 20; index++)
      assert.is(following.so.stdout.split(`new ${index} ${json}!`).length, 2)
    journal.write({
      type: 'requested',
      call: id('r'),
      tool: 'write_file',
      args: {},
      ...dangerous,
      plan: planned('plan-r', 'write r.py'),
    })
    await following.says(json ? /"plan-r"/ : /asks .*write r\.py {2}\[plan-r\]/)
    journal.write({
      type: 'refused',
      call: id('r'),
      tool: 'write_file',
      args: {},
      ...dangerous,
      decision: 'ask',
      outcome: 'withdrawn',
    })
    journal.write({
      type: 'dispatched',
      call: id('long'),
      tool: 'eval_expr',
      args: { expr: 'train!' },
      ...on,
    })
    await following.says(json ? /train!/ : /no end yet .* train!/)
    journal.write({ type: 'ended', call: id('long'), outcome: 'interrupted', elapsed_ms: 1 })
    await following.says(/interrupted/)
    await journal.close()
    following.child.kill('SIGINT')
    assert.equal([(await following.ended).code, following.so.stderr], [0, ''])
  }
})

test('--follow waits for a journal that is not there yet, and ends when nobody reads it any more', async () => {
  const stateDir = join(rig.folder, 'later')
  const following = rig.begin(['log', '--follow'], { env: { IMAGO_STATE_DIR: stateDir } })
  const journal = openJournal({ stateDir })
  journal.write({ type: 'kernel', kernel: 'app', epoch: 'e', what: 'started' })
  await following.says(/kernel app: started/)
  following.child.stdout?.destroy()
  let ended = false
  void following.ended.then(() => {
    ended = true
  })
  await until(() => {
    journal.write({ type: 'kernel', kernel: 'app', epoch: 'e', what: 'lost' })
    return ended || following.child.exitCode !== null
  }, 'imago log --follow to end')
  await journal.close()
  assert.is((await following.ended).code, 0)
})
