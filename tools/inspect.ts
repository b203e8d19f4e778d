import { z } from 'zod'
import {
  type Arglist,
  type Callable,
  type Description,
  type ExceptionFacts,
  type Fields,
  type Hierarchy,
  type HierarchyQuery,
  type Inspected,
  type InspectQuery,
  LOOKS,
  type Members,
  type Methods,
  type NameQuery,
  type Piece,
  type Sample,
  type Section,
  type Slot,
  type Slots,
  type SlotsQuery,
  type Text,
  type TypeName,
} from '../wire/kernel.ts'
import { type KeptLocal, keptLocals, noSuchPast, pastOf, programErrorsOf } from './activity.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf, told } from './languages.ts'
import { aName, anExpression, lookedUp, lookUpName, stale, unfound } from './look.ts'
import { failed, type Outcome, ok, packageRefused } from './outcome.ts'
import { NAME_LENGTH, NAMED_IN, named, parameterFor, SOURCE_LENGTH } from './parameters.ts'
import { inspectedProved, previewLines } from './proof.ts'
import { NAMES_OF, namesOf, notLoaded, scopeOf } from './scope.ts'
import {
  beginning,
  counted,
  cutNote,
  fitting,
  given,
  indent,
  oneLine,
  placeOf,
  reportSetIn,
  setIn,
  typeWord,
} from './text.ts'
import { beginningWithin, PAGE_TOKENS, tokensAtMost } from './tokens.ts'

export const inspect = defineTool({
  name: 'inspect',
  description:
    'Look at one value: its type, size, items and fields; for a callable its signature, place and source; for an ' +
    'exception its traceback. Prefer it over eval_expr for understanding. A name, a path such as ' +
    '`orders[0].customer.name`, a literal or a handle such as `@ab12.3` is read from stored fields. Runs no code: ' +
    'what needs that is refused.',
  parameters: {
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('A name, path, literal or handle.'),
    package: NAMED_IN,
    file: NAMES_OF,
    frame: parameterFor(
      'live_frames',
      z.string().max(NAME_LENGTH).optional().describe('A frame: `main in MainThread`, `price in error 1`.'),
    ),
    detail: parameterFor(
      'describe',
      z
        .enum(['full', 'brief', 'signature'])
        .default('full')
        .describe('brief: a few lines on a name. signature: how it is called.'),
    ),
  },
  presets: { describe_symbol: { detail: 'brief' }, function_arglist: { detail: 'signature' } },
  parameterAliases: { function: 'expr', variable: 'expr', class: 'expr' },
  level: 'safe',
  profile: 'core',
  categories: ['introspection'],
  needs: ['inspect'],
  result: z.union([LOOKS.inspect.found, LOOKS.describe.found, LOOKS.arglist.found]),
  examples: [
    { args: { expr: 'next' }, shows: 'a function, with its signature and source' },
    { args: { expr: 'orders[0].customer' }, shows: 'a value within another, read without running code' },
    { args: { expr: '@ab12.3' }, shows: 'the value behind a handle' },
    { args: { expr: 'losses[-5:]', frame: 'main in MainThread' }, shows: 'a local of a running function' },
    { args: { expr: 'shop.Order.total', detail: 'signature' }, shows: 'how a method is called' },
  ],

  withoutKernel({ expr, frame }, context) {
    const process = Number(IN_ERROR.exec(frame ?? '')?.[1])
    if (Number.isNaN(process)) return undefined
    const past = pastOf(context).errors.filter(({ of }) => of.pid === process)
    return past.length === 0 ? undefined : keptText({ expr, frame }, keptLocals(past))
  },

  withNoneLiving({ expr, frame }, context, kernel) {
    const kept = keptLocals(pastOf(context, kernel).errors)
    return frame !== undefined || kept.some(({ local }) => local.name === rootOf(expr))
      ? keptText({ expr, frame }, kept)
      : undefined
  },

  async handler({ expr, package: named, file, frame, detail }, context) {
    const { language, abilities, pid } = context.kernel.identity
    // The record of that process is gone. The program that lives may have an error of the same number.
    if (Number(IN_ERROR.exec(frame ?? '')?.[1] ?? pid) !== pid) return noSuchPast(pastOf(context))
    if (frame !== undefined && (detail !== 'full' || !abilities.has('live_frames')))
      return failed('invalid_args', {
        message:
          detail === 'full'
            ? `frame says in which live frame a local is read, and ${language} does not tell that.`
            : `frame is for a value, and detail ${detail} is about a name. Nothing was looked at.`,
        details: { parameter: 'frame' },
        next: detail === 'full' ? 'Leave frame out.' : 'Leave detail out.',
      })
    const scope = await scopeOf({ file, package: named }, context)
    if ('type' in scope) return scope
    const { package: inside } = scope
    const none = notLoaded(scope, context)
    if (none !== undefined) return none
    if (detail !== 'full') return outlined({ name: expr, package: inside }, detail, context)
    const { kernel, jobs } = context
    const refused = packageRefused(inside, kernel, 'package says in what names are read')
    if (refused !== undefined) return refused
    const lookIn = (frame: string | undefined) =>
      lookedUp({ look: 'inspect', query: given<InspectQuery>({ expr, package: inside, frame }) }, context)
    const first = await lookIn(frame)
    const inErrors =
      frame !== undefined && first.type === 'not_found' ? [frame, ...first.nearest].filter(isInError) : []
    // Where no live frame has that name, the name is enough for the only frame of an error with that name.
    const only = inErrors.length === 1 ? inErrors[0] : frame
    const looked = only === frame ? first : await lookIn(only)
    if (looked.type === 'found')
      return ok({
        ...(await inspectedProved(looked.value, context)),
        ...told(kernel),
        ...namesOf(scope, file),
      })
    if (looked.type === 'not_found' && inErrors.length > 0) {
      const noted = await programErrorsOf(context)
      if (noted.type !== 'ok') return noted
      return keptText({ expr, frame: only }, keptLocals(noted.result.errors.map(error => ({ error }))))
    }
    const inFrame = (name: string) => `inspect ${JSON.stringify({ expr, frame: name })} shows it.`
    const words = { ...anExpression(kernel), running: running(expr), inFrame }
    const search = frame === undefined ? words.search : 'threads shows the frames that live now.'
    return unfound(looked, { jobs, words: { ...words, search } })
  },

  show: showLooked,
})

// Locals of errors: where nothing keeps the frame, and of a process that has gone, there is the text that was taken down.

const IN_ERROR = / in error \d+(?: of process (\d+))?$/

const isInError = (frame: string): boolean => IN_ERROR.test(frame)

const rootOf = (expr: string): string | undefined => /^\s*([\p{L}_][\p{L}\p{N}_]*)/u.exec(expr)?.[1]

/** What was taken down of a variable; without `frame`, the frames that had one of that name. */
function keptText(
  { expr, frame }: { readonly expr: string; readonly frame: string | undefined },
  kept: readonly KeptLocal[],
): Outcome<Inspected> {
  const name = rootOf(expr) ?? expr
  // As with a frame that lives, the last parts of the name of its function are enough.
  const isMeant = ({ qualified, of }: KeptLocal) =>
    [frame, `${frame} of process ${of?.pid}`].some(asked => `.${qualified}`.endsWith(`.${asked}`))
  const named = kept.filter(({ local }) => local.name === name)
  const meant = oneLine(frame ?? '')
  const isCalledSo = ({ qualified }: KeptLocal) => `.${qualified.replace(IN_ERROR, '')}`.endsWith(`.${meant}`)
  const called = named.filter(isCalledSo)
  const isOne = new Set(called.map(one => one.qualified)).size === 1
  const found = frame === undefined ? undefined : (named.find(isMeant) ?? (isOne ? called[0] : undefined))
  if (found === undefined) {
    const having = called.length > 0 ? called : named
    const nearest = [...new Set((having.length === 0 ? kept : having).map(one => one.frame))].slice(0, 10)
    const [first] = having
    const gone =
      frame === undefined && first?.of !== undefined
        ? `${first.of.name} (process ${first.of.pid}) has gone, its error was ${first.what}. `
        : ''
    const missed =
      frame === undefined && first !== undefined
        ? `${oneLine(expr)} is not read without its frame`
        : called.length > 0
          ? `${oneLine(expr)} was kept of several frames that are called ${meant}`
          : `${oneLine(expr)} is not among the locals that were kept${frame === undefined ? '' : ` of ${meant}`}`
    const frames = nearest.length === 0 ? 'No frame of an error has any' : nearest.join(', ')
    const lead = nearest.length === 0 ? '' : first === undefined ? 'Frames of errors: ' : 'It is a local of '
    return failed('not_found', {
      message: `${gone}${missed}. ${lead}${frames}.`,
      details: { what: expr, nearest },
      next:
        first === undefined
          ? 'get_last_error shows what was kept.'
          : `inspect ${JSON.stringify({ expr, frame: first.frame })} shows it.`,
    })
  }
  const { local, place, of } = found
  const gone = of === undefined ? 'nothing keeps that frame now' : `${of.name} (process ${of.pid}) has gone`
  const note = `the text of ${name} as it was in ${found.frame}, at ${place}, is all that was kept: ${gone}`
  if (expr.trim() !== name)
    return failed('not_available', {
      message: `${oneLine(expr)} cannot be read: ${oneLine(note)}. ${name} = ${oneLine(local.repr)}`,
      details: { kept: local.repr },
    })
  const type = { name: local.type_name, module: null, qualified: local.type_name }
  const repr = { text: local.repr, truncated: local.repr.endsWith('…'), original_len: null }
  return ok<Inspected>({ type, kind: 'object', note, repr, limits: {} })
}

/** How to run the expression after all. */
function running(expr: string): string {
  const typed = `'${expr.replaceAll("'", "'\\''")}'`
  return `To run it: eval_expr ${JSON.stringify({ expr })}, or in a shell imago eval ${typed}`
}

/** What a name stands for, or how it is called, of stored facts alone. */
function outlined(
  asked: { readonly name: string; readonly package: string | undefined },
  detail: 'brief' | 'signature',
  context: KernelContext,
): Promise<Outcome<Description | Arglist>> {
  const query = given<NameQuery>(asked)
  const words = { ...aName(context.kernel), parameter: 'expr' }
  return detail === 'brief'
    ? lookUpName({ look: 'describe', query, words }, context)
    : lookUpName({ look: 'arglist', query, words }, context)
}

function showLooked(result: (Inspected | Description | Arglist) & Told): string {
  if ('parameters' in result) return showArglist(result)
  return 'qualified' in result ? showDescription(result) : showInspected(result)
}

function showDescription(found: Description & Told): string {
  const terms = termsOf(found)
  const { name, qualified, kind, type, signature, module, also, facts, doc, value, handle } = found
  const valued = kind === 'variable' || kind === 'constant' || kind === 'property'
  const words = [oneLine(qualified === '' ? name : qualified), terms.kind(kind)]
  if (valued) words.push(typeWord(type))
  const place = placeOf(found)
  if (place !== '') words.push(place)
  if (handle !== undefined) words.push(handle)
  const lines = [words.join(' · ')]
  if (qualified !== '' && qualified !== name) lines.push(`asked for as ${oneLine(name)}`)
  if (signature !== null) lines.push(`signature: ${oneLine(signature)}`)
  if (module !== null) lines.push(`${terms.module[0]}: ${oneLine(module)}`)
  if (facts.length > 0) lines.push(`facts: ${facts.map(oneLine).join('; ')}`)
  const others = also.filter(one => one !== name && one !== qualified)
  if (others.length > 0) lines.push(`also known as: ${others.map(oneLine).join(', ')}`)
  if (value !== undefined) lines.push(...textLines('value', value))
  if (doc !== null) lines.push(...textLines('doc', doc))
  return lines.join('\n')
}

function showArglist(found: Arglist): string {
  const { name, qualified, signature, because, parameters, returns, doc, call } = found
  const whose = oneLine(qualified === '' ? name : qualified)
  const lines = [
    call === undefined ? `${whose}${signature === null ? '' : oneLine(signature)}` : oneLine(call),
  ]
  if (signature === null) {
    lines.push(`its signature is not known: ${oneLine(because ?? 'the image does not tell')}`)
    if (parameters.length > 0)
      lines.push(`parameters: ${parameters.map(one => oneLine(one.name)).join(', ')}`)
    if (returns !== null) lines.push(`returns: ${oneLine(returns)}`)
  }
  if (doc !== null && doc !== '') lines.push(oneLine(doc))
  const place = placeOf(found)
  if (place !== '') lines.push(place)
  return lines.join('\n')
}

/** A value in sections as text: what it is first, then what it holds, then what is said about it. No text comes twice. */
function showInspected(value: Inspected & Told): string {
  const terms = termsOf(value)
  const sampled = isSampled(value)
  const whole = isWholeSource(value.callable)
  return [
    headline(value),
    ...(value.note === undefined ? [] : [`note: ${oneLine(value.note)}`]),
    ...(isPrinted(value, sampled) ? section('repr', value.repr, textLines) : []),
    ...section(terms.exception, value.exception, exceptionLines),
    ...section(terms.kind('callable'), value.callable, callableLines),
    ...(sampled ? section('sample', value.sample, sampleLines) : []),
    ...section(
      value.kind === 'class' ? 'class data' : 'fields',
      whole ? undefined : value.fields,
      fieldLines,
    ),
    ...section('methods', whole ? undefined : value.methods, methodLines),
    ...section(
      terms.members,
      isListed(value) ? value.members : undefined,
      terms === termsOf({}) ? memberLines : slotLines,
    ),
    ...(docShown(value) ? [] : section('doc', value.doc, documented(value) ? textLines : summaryLines)),
  ].join('\n')
}

/** Whether the documentation has been said with the signature. */
const docShown = ({ callable }: Inspected) =>
  callable !== undefined && 'doc' in callable && callable.doc !== null && callable.doc !== ''

/** Whether its documentation is its own, rather than that of its class. */
const documented = (value: Inspected & Told): boolean =>
  termsOf(value) !== termsOf({}) || ['class', 'module', 'callable'].includes(value.kind)

/** Characters of a whole text that is shown in place of its items. */
const SHORT = 200

/** Whether its items are shown: not where its text has them all, or a table of them. */
function isSampled({ repr, sample, kind }: Inspected): boolean {
  if (sample === undefined || 'error' in sample) return true
  if (sample.items.length === 0 && !sample.truncated) return false
  if (repr === undefined || !('text' in repr) || repr.error !== undefined) return true
  if (kind === 'module' || isNameAlone(repr.text, sample.items)) return true
  if (repr.text.includes('\n')) return false
  return repr.truncated || repr.text.length > SHORT
}

/** Whether a text in Lisp's brackets names a value without what that holds: `#<hash-table :test eql :count 2>`. */
const isNameAlone = (text: string, items: readonly string[]): boolean =>
  /^#<.*>$/.test(text) && !items.every(item => text.includes(item.replace(' = ', ' ')))

/** Whether its text is shown: not where its items or its fields are, which say the same, unless it has lines or a name of its own. */
function isPrinted({ repr, sample, fields, kind }: Inspected, sampled: boolean): boolean {
  if (repr === undefined || !('text' in repr) || repr.error !== undefined) return true
  if (sampled && kind !== 'module' && sample !== undefined && !('error' in sample))
    return isNameAlone(repr.text, sample.items)
  if (kind === 'class' || repr.text.includes('\n')) return true
  return fields === undefined || 'error' in fields
}

/** Whether names of members are worth their room: of a module, and where nothing else is known of a value. */
function isListed(value: Inspected & Told): boolean {
  const { kind, fields, methods, size } = value
  if (kind === 'module' || termsOf(value) !== termsOf({})) return true
  return fields === undefined && methods === undefined && (size === undefined || 'error' in size)
}

const isWholeSource = (callable: Inspected['callable']): boolean =>
  callable !== undefined &&
  'source_preview' in callable &&
  callable.source_preview !== null &&
  !callable.source_truncated

/** A row each; what begins with `_` is in one line, unless there is nothing else. */
function fieldLines(title: string, { rows, total }: Fields): string[] {
  const open = rows.filter(({ name }) => !name.startsWith('_'))
  const shown = open.length === 0 ? rows : open
  const folded = rows.filter(row => !shown.includes(row))
  const count = rows.length === total ? `${total}` : `${rows.length} of ${total}`
  const lines = shown.map(({ name, value }) => indent(`${oneLine(name)} = ${oneLine(value)}`))
  const short = folded.map(({ name, value }) => `${oneLine(name)} = ${oneLine(inShort(value))}`)
  return [`${title} (${count}):`, ...lines, ...(short.length === 0 ? [] : [indent(short.join(', '))])]
}

const FOLDED_LENGTH = 40

const inShort = (value: string): string =>
  value.length <= FOLDED_LENGTH ? value : `${beginning(value, FOLDED_LENGTH - 1)}…`

/** `total(rate=1): The sum of its lines.` */
function methodLines(title: string, { of, rows, total }: Methods): string[] {
  if (rows.length === 0) return []
  const count = rows.length === total ? '' : ` (${rows.length} of ${total})`
  const lines = rows.map(({ name, kind, signature, doc }) => {
    const called = kind === 'property' ? ' (property)' : (signature ?? '(…)')
    return indent(
      `${oneLine(name)}${oneLine(called)}${doc === null || doc === '' ? '' : `: ${oneLine(doc)}`}`,
    )
  })
  return [`${title} of ${oneLine(of)}${count}:`, ...lines]
}

/** The first line of what its class says of itself, and how to read on. */
function summaryLines(title: string, contents: Text): string[] {
  const [first = '', ...more] = contents.text.trim().split('\n')
  const { handle, error } = contents
  const plain = error === undefined ? '' : ` (its own could not be had: ${oneLine(error)})`
  const left = more.length === 0 || handle === undefined ? '' : ` (more: read_more ${handle})`
  return [`${title}${plain}: ${first}${left}`]
}

/** `list · sequence · len 10000000 · @ab12.3` */
function headline(value: Inspected & Told): string {
  const { type, kind, size, handle } = value
  const words = [typeWord(type), termsOf(value).kind(kind)]
  if (size !== undefined && 'error' in size) words.push(`size unknown: ${oneLine(size.error)}`)
  else if (size !== undefined) {
    if (size.len !== undefined) words.push(`len ${size.len}`)
    if (size.shape !== undefined) words.push(`shape ${extents(size.shape)}`)
  }
  if (handle !== undefined) words.push(handle)
  return words.join(' · ')
}

/** `(3, 2)`, `(1000,)` or `()`, as Python writes it. */
const extents = (shape: readonly number[]): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`

function section<Contents extends object>(
  title: string,
  contents: Section<Contents> | undefined,
  lines: (title: string, contents: Contents) => string[],
): string[] {
  if (contents === undefined) return []
  // A text may carry an `error` beside what it says; only a section that is nothing else has failed.
  if ('error' in contents && Object.keys(contents).length === 1)
    return [`${title}: failed: ${String(contents.error)}`]
  return lines(title, contents as Contents)
}

function textLines(title: string, contents: Text): string[] {
  const { text, truncated, handle, error } = contents
  const cut = truncated ? ` (${cutNote(contents)}${rest(handle)})` : ''
  const plain = error === undefined ? '' : ` (its own printer was not used: ${oneLine(error)})`
  const short = !text.includes('\n')
  return short ? [`${title}${cut}${plain}: ${text}`] : [`${title}${cut}${plain}:`, indent(text)]
}

function exceptionLines(title: string, { exc_type, message, traceback }: ExceptionFacts): string[] {
  const said = message === null || message === '' ? exc_type : `${exc_type}: ${message}`
  const first = `${title}: ${setIn(said)}`
  return traceback === null ? [first] : [first, reportSetIn(traceback.trimEnd())]
}

function callableLines(title: string, facts: Callable): string[] {
  const { module, signature, file, line, doc, wraps } = facts
  const place = file === null ? '' : `, ${file}${line === null ? '' : `:${line}`}`
  const lines = [
    `${title}: ${signature ?? 'no signature known'}${module === null ? '' : `, in ${module}`}${place}`,
  ]
  if (wraps !== undefined)
    lines.push(
      `around: ${oneLine(wraps.name)}${placeOf(wraps) === '' ? '' : `, ${placeOf(wraps)}`} (symbol_definition shows both)`,
    )
  // The text of a function has it, too.
  if (doc !== null && doc !== '' && !(facts.source_preview ?? '').includes(doc.trim()))
    lines.push('doc:', indent(doc.trimEnd()))
  return [...lines, ...previewLines(facts)]
}

function sampleLines(title: string, { items, shown, total, truncated, handle }: Sample): string[] {
  const count = truncated
    ? ` (first ${shown} of ${total ?? 'unknown many'}${rest(handle)})`
    : ` (all ${shown})`
  return [`${title}${count}:`, ...items.map(item => indent(item))]
}

function memberLines(title: string, { data, callables, dunder_count, truncated }: Members): string[] {
  if (data.length + callables.length === 0) return []
  const cut = truncated ? ' (cut)' : ''
  const special = dunder_count > 0 ? ` ${dunder_count} special` : ''
  const lines = [`${title}${cut}:${special}`]
  if (data.length > 0) lines.push(`  data: ${data.map(oneLine).join(', ')}`)
  if (callables.length > 0) lines.push(`  callables: ${callables.map(oneLine).join(', ')}`)
  return lines
}

/** The same where nothing but slots is there: `slots: customer, lines`. */
function slotLines(title: string, { data, truncated }: Members): string[] {
  return data.length === 0 ? [] : [`${title}${truncated ? ' (cut)' : ''}: ${data.map(oneLine).join(', ')}`]
}

const rest = (handle: string | undefined): string =>
  handle === undefined ? '' : `; more: read_more ${handle}`

/** How many slots, and how many subclasses, one answer has at most. */
const MOST_OF_A_CLASS = 200

/** What the tools that look at a class have alike. */
const OF_A_CLASS = {
  parameters: {
    name: named('A class, or a value whose class is meant: a name, a path, or a handle.'),
    package: NAMED_IN,
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'classes'],
} as const

export const classSlots = defineTool({
  name: 'class_slots',
  description:
    'List the fields, slots, class variables and properties of a class, each with its annotation, default ' +
    'and the class it comes from; in Lisp with initargs, readers, writers and documentation. Runs no code. ' +
    'For methods use inspect, for the source symbol_definition.',
  ...OF_A_CLASS,
  needs: ['slots'],
  result: LOOKS.slots.found,
  examples: [{ args: { name: 'shop.Order' }, shows: 'the fields of a class, those it inherits included' }],

  handler({ name, package: inside }, context) {
    const query = given<SlotsQuery>({ name, package: inside, limit: MOST_OF_A_CLASS })
    return lookUpName({ look: 'slots', query }, context)
  },

  show: showSlots,
})

function showSlots({ class: of, slots, total }: Slots): string {
  const count = slots.length === total ? counted(total, 'slot') : `${slots.length} of ${total} slots`
  const lines = [`${typeLine(of)} · ${count}`]
  let owner: string | undefined
  for (const slot of slots) {
    if (slot.from !== owner) lines.push(`from ${oneLine(slot.from)}:`)
    owner = slot.from
    lines.push(`  ${slotLine(slot)}`)
  }
  return lines.join('\n')
}

/** `field total: Decimal = Decimal('0')`, and of a Lisp slot as its definition says it: `lines  :initarg :lines`. */
function slotLine(slot: Slot): string {
  const { kind, name, annotation, default: value } = slot
  if (slot.initargs !== undefined) return slotOptions(slot)
  const typed = annotation === null ? '' : `: ${oneLine(annotation)}`
  return `${kind} ${oneLine(name)}${typed}${value === null ? '' : ` = ${oneLine(value)}`}`
}

/** `shop::lines  :initarg :lines  :accessor shop:order-lines  :initform nil`, its documentation below it. */
function slotOptions(slot: Slot): string {
  const { name, initargs = [], readers = [], writers = [], allocation = ':instance', annotation, doc } = slot
  const accessors = readers.filter(reader => writers.includes(`(setf ${reader})`))
  const options: readonly (readonly [option: string, values: readonly (string | null)[]])[] = [
    [':initarg', initargs],
    [':accessor', accessors],
    [':reader', readers.filter(reader => !accessors.includes(reader))],
    [':writer', writers.filter(writer => !accessors.some(reader => writer === `(setf ${reader})`))],
    [':initform', [slot.default]],
    [':type', [annotation]],
    [':allocation', [allocation === ':instance' ? null : allocation]],
  ]
  const said = options.flatMap(([option, values]) =>
    values.flatMap(value => (value === null ? [] : [`${option} ${oneLine(value)}`])),
  )
  const below = doc === undefined || doc === null || doc === '' ? '' : `\n    ${oneLine(doc)}`
  return `${[oneLine(name), ...said].join('  ')}${below}`
}

export const classHierarchy = defineTool({
  name: 'class_hierarchy',
  description:
    'Show the bases of a class, its method resolution order, and every loaded subclass as a tree. Runs no ' +
    'code. Use it to learn what a change of a class would affect; for the fields use class_slots.',
  ...OF_A_CLASS,
  needs: ['hierarchy'],
  result: LOOKS.hierarchy.found,
  examples: [
    { args: { name: 'shop.Order' }, shows: 'what a class inherits from, and what inherits from it' },
  ],

  handler({ name, package: inside }, context) {
    const query = given<HierarchyQuery>({ name, package: inside, limit: MOST_OF_A_CLASS })
    return lookUpName({ look: 'hierarchy', query }, context)
  },

  show: showHierarchy,
})

function showHierarchy(found: Hierarchy & Told): string {
  const terms = termsOf(found)
  const { class: of, metaclass, bases, ancestors, subclasses, total } = found
  const words = [typeLine(of)]
  if (metaclass !== null) words.push(`metaclass ${typeLine(metaclass)}`)
  const place = placeOf(found)
  if (place !== '') words.push(place)
  const lines = [words.join(' · '), `${terms.superclasses}: ${typeWords(bases, ', ')}`]
  if (ancestors.length > 0) lines.push(`${terms.order}: ${typeWords([of, ...ancestors], ' → ')}`)
  if (total === 0) return [...lines, 'no subclasses'].join('\n')
  const cut = subclasses.length === total ? '' : `, ${subclasses.length} of them shown`
  lines.push(`${counted(total, 'subclass', 'subclasses')}${cut}:`)
  return [...lines, ...subclasses.map(({ type, depth }) => `${'  '.repeat(depth)}${typeLine(type)}`)].join(
    '\n',
  )
}

const typeWords = (types: readonly TypeName[], between: string): string =>
  types.length === 0 ? 'none' : types.map(typeLine).join(between)

const typeLine = (type: TypeName): string => oneLine(typeWord(type))

export const readMore = defineTool({
  name: 'read_more',
  description:
    'Read on in something that was cut: pass the handle that came with it. Texts are counted in characters, ' +
    'samples in items; `next` of the answer is the `from` of the next call.',
  parameters: {
    handle: z
      .string()
      .max(64)
      .regex(/^@[0-9a-z]+\.[0-9]+$/)
      .describe('Such as `@ab12.3`.'),
    from: z.int().min(0).default(0).describe('Where to begin.'),
    limit: z.int().min(1).max(40_000).default(4_000).describe('How much to read at most.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['introspection'],
  needs: ['more'],
  result: LOOKS.more.found,
  examples: [
    { args: { handle: '@out.7', from: 4_000 }, shows: 'the second part of a long output' },
    { args: { handle: '@ab12.4', from: 16, limit: 100 }, shows: 'the next hundred items of a sample' },
  ],

  // Output outlives the kernel that printed it, and is then most wanted.
  withoutKernel({ handle, from, limit: count }, { texts }) {
    if (!texts.owns(handle)) return undefined
    const part = texts.read({ handle, from, count })
    if (part === undefined) return texts.issued(handle) ? stale(handle, GONE) : unknown(handle)
    const { text, total, next } = part
    return ok(fitted({ type: 'text', text, from, total, next }))
  },

  async handler({ handle, from, limit: count }, { kernel, lookMs, signal, jobs }) {
    const looked = await kernel.look('more', { handle, from, count }, { deadlineMs: lookMs, signal })
    return looked.type === 'found' ? ok(fitted(looked.value)) : unfound(looked, { jobs })
  },

  show: showPiece,
})

/** Which of the two it is, a caller in another project is not told. */
const GONE = 'that text has made room for newer ones, or is of another project'

/** Made up, or of a daemon that is gone. */
function unknown(handle: string): Outcome<never> {
  return failed('not_found', {
    message: `No text is known as ${handle}: this daemon has not given out that handle.`,
    details: { what: handle, nearest: [] },
    next: 'Use a handle as the answer of an earlier call has it.',
  })
}

/** The piece, ended earlier where it would not fit into an answer. */
function fitted(piece: Piece): Piece {
  if (piece.type === 'text') {
    const text = beginningWithin(piece.text, PAGE_TOKENS)
    return text.length === piece.text.length ? piece : { ...piece, text, next: piece.from + text.length }
  }
  const items = fitting(piece.items, item => tokensAtMost(item) + 2)
  return items.length === piece.items.length ? piece : { ...piece, items, next: piece.from + items.length }
}

function showPiece(piece: Piece): string {
  const { from, total, next } = piece
  const unit = piece.type === 'text' ? 'characters' : 'items'
  const length = piece.type === 'text' ? piece.text.length : piece.items.length
  const of = total === null ? '' : ` of ${total}`
  const more = next === null ? 'the end' : `for more: from ${next}`
  const heading = `${unit} ${from} to ${from + length}${of}; ${more}`
  return [heading, ...(piece.type === 'text' ? [piece.text] : piece.items)].join('\n')
}
