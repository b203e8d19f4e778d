import type { Hierarchy, HierarchyQuery, Slot, Slots, SlotsQuery, TypeName } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf } from './languages.ts'
import { lookUpName } from './looked.ts'
import { counted, given, NAMED_IN, named, placeOf } from './naming.ts'
import { oneLine, typeWord } from './wording.ts'

/** How many slots, and how many subclasses, one answer has at most. */
const SLOTS = 200
const SUBCLASSES = 200

export const classSlots = defineTool({
  name: 'class_slots',
  description:
    'List what the instances of a class hold and what the class declares: fields, slots, class variables and ' +
    'properties, each with its annotation, default and the class it comes from, in Lisp with initargs, readers, ' +
    'writers and documentation. Runs no code. For the methods and ' +
    'the source of a class use inspect and symbol_definition.',
  parameters: {
    name: named('A class, or a value whose class is meant: a name, a path, or a handle.'),
    package: NAMED_IN,
  },
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'classes'],
  needs: ['slots'],
  examples: [{ args: { name: 'shop.Order' }, shows: 'the fields of a class, those it inherits included' }],

  handler({ name, package: inside }, context) {
    const query = given<SlotsQuery>({ name, package: inside, limit: SLOTS })
    return lookUpName({ look: 'slots', query }, context)
  },

  show: result => showSlots(result as Slots),
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
    'Show where a class stands: its bases, all classes it inherits from in the order in which they are asked, and ' +
    'every loaded subclass as a tree. Runs no code. Use it to learn whom a change of a class would reach; for ' +
    'what its instances hold use class_slots.',
  parameters: {
    name: named('A class, or a value whose class is meant: a name, a path, or a handle.'),
    package: NAMED_IN,
  },
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'classes'],
  needs: ['hierarchy'],
  examples: [
    { args: { name: 'shop.Order' }, shows: 'what a class inherits from, and what inherits from it' },
  ],

  handler({ name, package: inside }, context) {
    const query = given<HierarchyQuery>({ name, package: inside, limit: SUBCLASSES })
    return lookUpName({ look: 'hierarchy', query }, context)
  },

  show: result => showHierarchy(result as Hierarchy & Told),
})

function showHierarchy(found: Hierarchy & Told): string {
  const terms = termsOf(found)
  const { class: of, metaclass, bases, ancestors, subclasses, total } = found
  const words = [typeLine(of)]
  if (metaclass !== null) words.push(`metaclass ${typeLine(metaclass)}`)
  const place = placeOf(found)
  if (place !== '') words.push(place)
  const lines = [words.join(' · '), `${terms.superclasses}: ${typeWords(bases, ', ')}`]
  if (ancestors.length > 0) lines.push(`${terms.order}: ${typeWords(ancestors, ' → ')}`)
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
