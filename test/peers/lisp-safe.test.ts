import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOOK_ANSWERS as LOOKED } from '../../wire/contract/looks.ts'
import type { Looked, LookName, Looks } from '../../wire/kernel.ts'
import { parseAnswer } from '../../wire/kernels/answers.ts'
import type { Arguments } from '../../wire/swank/peer.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { lispImage } from '../support/lisp-image.ts'

const test = suite('looking at a Lisp program full of tripwires', { limitMs: 100_000 })
const PEER = join(import.meta.dirname, '../../wire/peers/lisp')
const PROGRAM = join(import.meta.dirname, '../support/tripwires.lisp')

/** What of each look is a text that a caller writes; the rest of its query. */
const TEXTS: { readonly [Name in LookName]: readonly string[] } = {
  scope: [],
  globals: ['module', 'after', 'filter'],
  inspect: ['expr'],
  more: ['handle'],
  definition: ['name', 'package'],
  describe: ['name', 'package'],
  arglist: ['name', 'package'],
  apropos: ['pattern', 'module', 'after'],
  slots: ['name', 'package'],
  hierarchy: ['name', 'package'],
  symbols: ['module', 'filter', 'after'],
  references: ['name', 'package'],
  threads: ['filter'],
  history: [],
  last_error: [],
  errors: [],
  kept_text: [],
  complete: ['text'],
  suspensions: [],
  suspension: ['suspension'],
  frame: ['suspension'],
  theirs: [],
  adopt: ['id'],
  trace: ['name', 'package', 'who'],
  untrace: ['tracepoint'],
  traces: ['tracepoint'],
}
const WITH = {
  limit: 40,
  max_length: 4000,
  contexts: true,
  modules: true,
  internal: true,
  frames: 30,
  locals: true,
  from: 0,
  count: 50,
  cursor: 12,

  deadline_ms: 20_000,
}

/** Calls that are no looks, and run what they are asked to. */
const NO_LOOKS = ['resume', 'identity', 'interrupt', 'leave']

const lisp = lispImage(test, { forms: [`(load ${JSON.stringify(PROGRAM)})`] })
let values: string[]

test.before(async () => {
  values = ((await lisp.values('trip::*values*'))[0] ?? '').replace(/^\(|\)$/g, '').split(' ')
  await lisp.define('(setf trip::*fired* nil)')
})
test.before.each(() => lisp.define('(setf trip::*fired* nil)'))

const fired = () => lisp.text('trip::*fired*')

/** Asks, has the answer be of its shape, and sees to it that nothing ran. */
async function look<Name extends LookName>(
  name: Name,
  query: Arguments,
): Promise<Looked<Looks[Name]['found']>> {
  const asked = `${name} ${JSON.stringify(query)}`
  const answer = await lisp.peer.call(name, { ...WITH, ...query }).catch(error => {
    throw new Error(`${asked}: ${error}`)
  })
  const looked = parseAnswer(LOOKED[name], answer, asked)
  assert.is.not(looked.type, 'raised', `${asked}: ${JSON.stringify(answer)}`)
  assert.is.not(looked.type, 'timed_out', asked)
  assert.is(await fired(), 'nil', asked)
  return looked as Looked<Looks[Name]['found']>
}

test('every call of the peer is a look that is tried here, or known to be none', () => {
  const calls = readdirSync(PEER)
    .filter(file => file.endsWith('.lisp'))
    .flatMap(file => [...readFileSync(join(PEER, file), 'utf8').matchAll(/\(define-call "([^"]+)"/g)])
    .map(([, name = '']) => name)
  assert.equal(
    calls.filter(name => !(name in TEXTS) && !NO_LOOKS.includes(name)),
    [],
  )
  assert.ok(calls.includes('inspect'))
})

test('the tripwires are there: whoever prints, reads or describes runs into them', async () => {
  const ran = async (source: string) => {
    await lisp.define('(setf trip::*fired* nil)')
    await lisp.define(`(progn ${source} nil)`)
    const text = await fired()
    await lisp.define('(setf trip::*fired* nil)')
    return text
  }
  assert.match(await ran('(prin1-to-string trip::*plain*)'), 'print-object')
  assert.match(await ran('(prin1-to-string trip::*refused*)'), 'print-object')
  assert.match(await ran("(prin1-to-string 'trip::marked)"), 'print-symbol')
  assert.match(await ran("(slot-value trip::*kept-elsewhere* 'trip::name)"), 'slot-value-using-class')
  assert.match(await ran('(length trip::*endless*)'), 'length')
  assert.match(await ran('(gethash 1 trip::*own-test*)'), 'hash')
  assert.match(await ran('(describe trip::*plain* (make-broadcast-stream))'), 'describe-object')
  assert.match(await ran('(documentation trip::*plain* t)'), 'documentation')
  assert.match(await ran('(class-name trip::*watched-class*)'), 'class-name')
  assert.match(await ran('(let ((*readtable* (copy-readtable))) (read-from-string "!"))'), 'macro-character')
  assert.match(await ran('(trip::place-of-inside trip::*place-of*)'), 'accessor')
})

test('no look at a value, or into it, runs anything of the program (threat 25)', async () => {
  for (const name of values) {
    const value = await look('inspect', { expr: name })
    if (value.type !== 'found') throw new Error(`${name}: ${JSON.stringify(value)}`)
    for (const section of ['repr', 'size', 'sample', 'members', 'doc', 'callable', 'exception'] as const) {
      const found = value.value[section]
      if (found !== undefined && !('text' in found)) assert.not.ok('error' in found, `${section} of ${name}`)
    }
    const { handle, sample } = value.value
    const more = sample && 'handle' in sample ? sample.handle : undefined
    for (const one of [handle, more].filter(one => one !== undefined)) {
      await look('more', { handle: one })
      await look('inspect', { expr: one })
    }
    if (handle === undefined) continue
    for (const place of [
      "(slot-value @ 'trip::name)",
      "(slot-value @ 'trip::missing)",
      '(elt @ 0)',
      '(car @)',
    ])
      await look('inspect', { expr: place.replace('@', handle) })
    await look('inspect', { expr: `(gethash :key ${handle})` })
    for (const of of ['definition', 'describe', 'arglist', 'slots', 'hierarchy', 'references'] as const)
      await look(of, { name: handle })
  }
})

test('no look at a name runs anything of the program (threat 25)', async () => {
  const names = [
    'plain',
    'kept-elsewhere',
    'outdated',
    'endless',
    'record',
    'refused',
    'odd-type',
    'acts',
    '(setf acts)',
    'calls-acts',
    'expands',
    'stands-for',
    'noted',
    'plain-name',
    'place-of-inside',
    'marked',
    '+fixed+',
    'same-p',
    ...values.map(name => name.replace('trip::', '')),
  ]
  // Who refers to a name is looked for in all of the image: outside the long run, for some of the names.
  const share = isLong ? 1 : 5
  for (const [at, name] of names.entries()) {
    for (const of of ['definition', 'describe', 'arglist', 'slots', 'hierarchy'] as const)
      await look(of, { name, package: 'trip' })
    if (at % share === 0) await look('references', { name, package: 'trip' })
  }
  for (const name of ['stands-for', '(trip::place-of-inside trip::*place-of*)', '(trip::acts 1)'])
    await look('inspect', { expr: name.startsWith('(') ? name : `trip::${name}` })
})

test('no look at packages, threads and what happened runs anything of the program (threat 25)', async () => {
  await lisp.run('(error trip::*refused*)')
  await lisp.run('(trip::acts trip::*plain* trip::*outdated*)')
  await lisp.define('(setf trip::*fired* nil)')
  await look('symbols', { module: 'trip' })
  await look('globals', { module: 'trip' })
  await look('apropos', { pattern: '', module: 'trip' })
  await look('apropos', { pattern: 'plain' })
  await look('threads', {})
  await look('history', {})
  await look('last_error', {})
  for (const text of [
    '(trip::pla',
    '(trip::acts ',
    '(make-instance (quote trip::plain) ',
    '(trip::noted ',
    'trip::*',
  ])
    await look('complete', { text, cursor: text.length })
})

test('no text that a look is given is read, interned or run (threat 25)', async () => {
  const hostile = [
    '#.(trip::fire :read-eval)',
    "'#.(trip::fire :read-eval)",
    '(car #.(trip::fire :read-eval))',
    'trip::#.(trip::fire :read-eval)',
    '|#.(trip::fire :bars)|',
    '!',
    '#?',
    'trip::!plain',
    '")) (trip::fire :pasted) ((" ',
    "nil)) (trip::fire :pasted) '((",
    '(trip::fire :called)',
    '@0000.#.(trip::fire :read-eval)',
    'trip::never-there-before',
    ':never-there-before',
    'never-there-before',
  ]
  for (const name of Object.keys(TEXTS) as LookName[])
    for (const text of TEXTS[name])
      for (const given of hostile) {
        const others = TEXTS[name].includes('name') && text !== 'name' ? { name: 'car' } : {}
        const needed = {
          ...(name === 'apropos' && { pattern: 'car' }),
          ...(name === 'symbols' && { module: 'trip' }),
          ...others,
        }
        await look(name, { ...needed, [text]: given, cursor: given.length })
      }
  assert.equal(
    await lisp.values(
      '(loop for package in (list-all-packages) count (find-symbol (concatenate \'string "NEVER-THERE" "-BEFORE") package))',
    ),
    ['0'],
  )
})
