import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openOutput, openTexts, SHOWN_CHARS, type TextStore, type TextStores } from '../../src/text/texts.ts'
import type { EvalEvent, Stream } from '../../wire/contract/evaluation.ts'
import { settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('output')

let folder = ''

let stores: TextStores
let texts: TextStore

const logged: string[] = []

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-output-'))
  stores = openTexts({ stateDir: folder, log: message => logged.push(message) })
  texts = stores.of('/project')
  logged.length = 0
})

test.after.each(() => {
  stores.close()
  rmSync(folder, { recursive: true, force: true })
})

const printed = (text: string, stream: Stream = 'stdout'): EvalEvent => ({ type: 'output', stream, text })

const log = () => openOutput({ texts, on: () => undefined })

/** Bytes of memory that are held on to; what only waits to be collected does not count. */
function retained(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** All of a text, read in parts. */
function readAll(handle: string, count = 100_000): string {
  let text = ''
  for (let from: number | null = 0; from !== null; ) {
    const part = texts.read({ handle, from, count })
    if (part === undefined) throw new Error(`${handle} is gone`)
    text += part.text
    from = part.next
  }
  return text
}

test('output of just the length that is shown is whole, and one character more is cut in the middle', () => {
  const output = log()
  output.add(printed('x'.repeat(SHOWN_CHARS)))
  assert.is(output.soFar().truncated, false)
  assert.is(output.soFar().output.length, SHOWN_CHARS)
  output.add(printed('y'))
  const { truncated, handle = '', output: shown, stdout } = output.soFar()
  assert.ok(truncated)
  assert.match(shown, /characters cut here; all of the output: read_more @out\.1\]/)
  assert.ok(shown.startsWith('xxx') && shown.endsWith('xxy'))
  assert.ok(stdout.length < shown.length)
  assert.is(readAll(handle), `${'x'.repeat(SHOWN_CHARS)}y`)
})

test('the counts in the mark and the two ends add up to what was written', () => {
  const output = log()
  for (let line = 0; line < 20_000; line++)
    output.add(printed(`line ${line}\n`, line % 3 ? 'stdout' : 'stderr'))
  const { output: shown, stdout, stderr, handle = '' } = output.soFar()
  const whole = readAll(handle)
  assert.is(whole, Array.from({ length: 20_000 }, (_, line) => `line ${line}\n`).join(''))
  const [head = '', count = '', tail = ''] = shown.split(/\n… \[([\d,]+) characters cut here[^\n]*\n/)
  assert.ok(whole.startsWith(head) && whole.endsWith(tail))
  assert.is(head.length + Number(count.replaceAll(',', '')) + tail.length, whole.length)
  assert.ok(stdout.length + stderr.length + shown.length < 64 * 1_024)
})

test('texts of any script can be read from any place, with lone surrogates as they came', () => {
  const output = log()
  const piece = 'é😀\ud800日本語\n'
  const whole = piece.repeat(40_000)
  for (let from = 0; from < whole.length; from += 7_001) output.add(printed(whole.slice(from, from + 7_001)))
  const { handle = '', output: shown } = output.soFar()
  assert.is(readAll(handle, 9_999), whole)
  assert.is(texts.read({ handle, from: 123_456, count: 10 })?.text, whole.slice(123_456, 123_466))
  assert.not.match(shown, /[\ud83d](?![\udc00-\udfff])/)
})

test('a reader that is slow, or stops, holds nothing up and goes on from where it was (fault 23)', async () => {
  const output = log()
  let read = ''
  for (let line = 0; line < 20_000; line++) {
    output.add(printed(`line ${line}\n`))
    const { handle } = output.soFar()
    if (line % 1_000 !== 0 || handle === undefined) continue
    read += texts.read({ handle, from: read.length, count: 5_000 })?.text ?? ''
    await settled()
  }
  const whole = readAll('@out.1')
  assert.ok(read.length > 50_000 && whole.startsWith(read))
  assert.is(output.soFar().dropped, 0)
})

test('a flood beyond 64 MiB of file is dropped and counted, and memory stays bounded (fault 24)', async () => {
  const output = log()
  const megabyte = 'x'.repeat(1024 * 1024)
  const before = retained()
  let most = 0
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  for (let index = 0; index < 1_024; index++) {
    output.add(printed(megabyte))
    await settled()
    if (index % 32 === 0) most = Math.max(most, retained() - before)
  }
  clearInterval(counting)
  const { dropped, handle = '', output: shown } = output.soFar()
  const kept = texts.read({ handle, from: 0, count: 1 })?.total ?? 0
  assert.ok(kept <= 32 * 1024 * 1024, `${kept} characters were kept`)
  assert.ok(kept >= 8 * 1024 * 1024, `only ${kept} characters were kept`)
  assert.ok(dropped >= 1024 ** 3 - kept)
  assert.ok(most < 64 * 1024 * 1024, `${most} bytes more memory`)
  assert.ok(shown.length < 64 * 1024)
  assert.ok(turns > 0)
})

test('what came too fast is marked where it is missing, in the whole text too', async () => {
  const output = log()
  output.add(printed('a'.repeat(10 * 1024 * 1024)))
  const { dropped, handle = '' } = output.soFar()
  assert.ok(dropped > 0)
  const end = () => {
    const total = texts.read({ handle, from: 0, count: 1 })?.total ?? 0
    return texts.read({ handle, from: Math.max(0, total - 100), count: 100 })?.text ?? ''
  }
  while (!end().endsWith('c')) {
    output.add(printed('c'))
    await settled()
  }
  assert.match(end(), /a\n… \[[\d,]+ characters were dropped here: they came too fast\] …\nc$/)
})

test('characters that the kernel dropped are counted and marked', () => {
  const output = log()
  output.add(printed('a'))
  output.add({ type: 'dropped', stream: 'stdout', characters: 1_234 })
  output.add(printed('b'))
  const { dropped, truncated, output: shown } = output.soFar()
  assert.is(dropped, 1_234)
  assert.ok(truncated)
  assert.match(shown, /^a\n… \[1,234 characters were dropped here: they came too fast\] …\nb$/)
})

test('no file of long output has a name, so none is left behind', async () => {
  const output = log()
  for (let index = 0; index < 50; index++) {
    output.add(printed('x'.repeat(100_000)))
    await settled()
  }
  assert.equal(readdirSync(join(folder, 'output')), [])
  assert.is(readAll('@out.1').length, 5_000_000)
})

test('where no file can be made, what fits in memory is kept and the rest is dropped and counted', () => {
  writeFileSync(join(folder, 'output'), 'in the way')
  const output = log()
  for (let index = 0; index < 100; index++) output.add(printed('x'.repeat(10_000)))
  const { dropped, handle = '' } = output.soFar()
  const kept = readAll(handle).length
  assert.ok(kept >= 64 * 1_024)
  assert.is(kept + dropped, 1_000_000)
  assert.ok(logged.length > 0)
})

test('a text is of one project: to another one it is as one that has made room, and it stays as it is', () => {
  const handle = texts.keep('ours')
  const theirs = stores.of('/elsewhere')
  assert.is(theirs.read({ handle, from: 0, count: 4 }), undefined)
  assert.equal([theirs.issued(handle), theirs.has(handle), texts.has(handle)], [true, false, true])
  theirs.drop(handle)
  assert.is(texts.read({ handle, from: 0, count: 4 })?.text, 'ours')
})

test('the least recently used texts make room for new ones', () => {
  const handles = Array.from({ length: 128 }, (_, index) => texts.keep(`text ${index}`))
  assert.is(texts.read({ handle: handles[0] ?? '', from: 0, count: 9 })?.text, 'text 0')
  texts.keep('one more')
  assert.is(texts.read({ handle: handles[0] ?? '', from: 0, count: 9 })?.text, 'text 0')
  assert.is(texts.read({ handle: handles[1] ?? '', from: 0, count: 9 }), undefined)
  assert.ok(texts.issued(handles[1] ?? ''))
})

test('reading knows the total and where to go on, and ends', () => {
  const handle = texts.keep('0123456789')
  assert.equal(texts.read({ handle, from: 0, count: 4 }), { text: '0123', total: 10, next: 4 })
  assert.equal(texts.read({ handle, from: 8, count: 4 }), { text: '89', total: 10, next: null })
  assert.equal(texts.read({ handle, from: 99, count: 4 }), { text: '', total: 10, next: null })
  assert.ok(texts.owns('@txt.1') && texts.owns('@out.9') && !texts.owns('@ab12.1'))
  assert.equal(['@txt.1', '@txt.0', '@txt.2', '@out.1', '@ab12.1'].filter(texts.issued), ['@txt.1'])
})
