import { isRecord } from '../../../tools/record.ts'
import { counted, duration, indent, oneLine } from '../../../tools/text.ts'
import type { EntryRead } from '../../journal/reader.ts'
import { escapeText } from '../../text/escape.ts'
import {
  type CallStory,
  type ChoiceRead,
  type DecisionRead,
  isWell,
  type Note,
  type Story,
  type Unreadable,
} from './stories.ts'

interface Form {
  /** Width of the terminal; undefined where there is none. */
  readonly columns: number | undefined
  /** With all that was kept of a call below its line. */
  readonly long: boolean
}

/** Characters of what was called that stand in a line which no terminal bounds. */
const MOST_CHARS = 200

/** Less room than that is none, and what was called gets a line of its own. */
const LEAST_CHARS = 24

const BELOW = '    '

const CALLER_CHARS = 10

/** A story in one line, or in few. */
export function storyPieces(story: Story, form: Form): Piece[] {
  if (story.type === 'unreadable') return [...unreadablePieces(story), piece('\n')]
  if (story.type === 'note') return [...notePieces(story, form), piece('\n')]
  return callPieces(story, form)
}

function callPieces(story: CallStory, { columns, long }: Form): Piece[] {
  const head = headOf(story)
  const tail = tailOf(story)
  const what = whatOf(story)
  const gap = ' '.repeat(Math.max(1, CALLER_CHARS - callerOf(story).length))
  const below = long ? [piece(`${indented(detailsOf(story))}\n`)] : []
  if (columns === undefined)
    return [...head, piece(`${gap}${cut(what, MOST_CHARS)}`), ...tail, piece('\n'), ...below]
  const room = columns - lengthOf(head) - gap.length - lengthOf(tail)
  if (room >= LEAST_CHARS || room >= what.length)
    return [...head, piece(`${gap}${cut(what, room)}`), ...tail, piece('\n'), ...below]
  const narrow = cut(`${BELOW}${what}`, Math.max(LEAST_CHARS, columns - lengthOf(tail)))
  return [...head, piece('\n'), piece(narrow), ...tail, piece('\n'), ...below]
}

/** The columns: what came of it, when, how long, where, what, how much it can do, and for whom. */
function headOf(story: CallStory): Piece[] {
  const { began, elapsedMs } = story
  const { word, mark, look } = cameOf(story)
  const took = elapsedMs === undefined ? '' : duration(elapsedMs)
  return [
    piece(mark, look),
    piece(` ${clock(story.time)} `, 'faint'),
    piece(`${word.padEnd(12)} `, look),
    piece(`${took.padStart(8)}  `, 'faint'),
    piece(
      `${column(began?.kernel ?? '-', 8)} ${column(began?.tool ?? '(before)', 12)} ${column(began?.level ?? '-', 9)} ${callerOf(story)}`,
    ),
  ]
}

/** How a call came out. Refused ones and those of which nobody knows bear a mark, so that they are seen without colours. */
function cameOf({ outcome, dispatched, decided, plan, began }: CallStory) {
  if (outcome !== undefined && isWell(outcome)) return { word: outcome, mark: ' ', look: 'plain' } as const
  if (outcome === 'outcome_unknown') return { word: 'unknown', mark: '?', look: 'doubt' } as const
  if (outcome !== undefined && (began?.type === 'refused' || (!dispatched && plan !== undefined)))
    return { word: outcome, mark: '!', look: 'bad' } as const
  if (outcome !== undefined) return { word: outcome, mark: 'x', look: 'bad' } as const
  if (dispatched) return { word: 'no end yet', mark: '.', look: 'doubt' } as const
  if (decided !== undefined) return { word: decided.answer, mark: '.', look: 'doubt' } as const
  return { word: plan === undefined ? 'no end yet' : 'asks', mark: '.', look: 'doubt' } as const
}

/** What must not be cut: names that a person types elsewhere, and who decided. */
function tailOf({ plan, decided, undo }: CallStory): Piece[] {
  const by = decided?.by ? ` by ${decided.by}` : ''
  const reason = decided?.reason ? `: ${cut(oneLine(decided.reason), MOST_CHARS)}` : ''
  const answer = decided === undefined ? '' : `, ${decided.answer}${by}${reason}${partsIn(decided)}`
  return [
    ...(plan === undefined ? [] : [piece(`  [${plan.id}${answer}]`, 'strong')]),
    ...(undo === undefined ? [] : [piece(`  undo ${undo}`, 'strong')]),
  ]
}

/** How many of its hunks a person took: `: 3 of 4 hunks, 1 of them edited, 1 in part`. */
function partsIn({ choices = [] }: DecisionRead): string {
  if (choices.length === 0) return ''
  const count = (of: string) => choices.filter(choice => decidedIn(choice) === of).length
  const [accepted, edited, inPart] = [count('accepted'), count('edited'), count('in part')]
  const also = [
    ...(edited === 0 ? [] : [`, ${edited} of them edited`]),
    ...(inPart === 0 ? [] : [`, ${inPart} in part`]),
  ]
  return `: ${accepted + edited + inPart} of ${counted(choices.length, 'hunk')}${also.join('')}`
}

/** `1 accepted, 2 refused (not in this release), 3 edited (25 bytes)` */
function choicesInWords(choices: readonly ChoiceRead[]): string {
  const each = choices.map(choice => {
    const { hunk, reason, bytes } = choice
    const said = [bytes === undefined ? '' : counted(bytes, 'byte'), reason ?? ''].filter(word => word !== '')
    const why = said.length === 0 ? '' : ` (${oneLine(said.join(': '))})`
    return `${hunk} ${decidedIn(choice)}${why}`
  })
  return each.join(', ')
}

const decidedIn = ({ decision, in_part: inPart }: ChoiceRead): string =>
  decision === 'edit' && inPart === true ? 'in part' : (DECIDED.get(decision) ?? oneLine(decision))

const DECIDED: ReadonlyMap<string, string> = new Map([
  ['accept', 'accepted'],
  ['refuse', 'refused'],
  ['edit', 'edited'],
])

/** The title of the plan, or the arguments. A single text stands for itself. */
function whatOf({ plan, began }: CallStory): string {
  if (plan?.title !== undefined) return oneLine(plan.title)
  if (began === undefined) return 'began before what was read here'
  const { kernel: _, patience: __, on_error: ___, ...args } = objectOf(began.args)
  const [only, ...others] = Object.values(args)
  const text = typeof only === 'string' && others.length === 0 ? only : JSON.stringify(began.args)
  return oneLine((text ?? '').slice(0, MOST_CHARS * 4))
}

function detailsOf({ began, call, plan, decided }: CallStory): string {
  const { epoch, members, decision, caller } = began ?? {}
  const { choices = [], ...answer } = decided ?? {}
  const hunks = choices.length === 0 ? undefined : choicesInWords(choices)
  const facts = { call, caller, epoch, members, gate: decision, plan, decided: decided && answer, hunks }
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null)
  const lines = [...known, ...Object.entries(objectOf(began?.args))].map(([name, value]) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
    return text.includes('\n') ? `${name}:\n${indent(text)}` : `${name}: ${text}`
  })
  return lines.join('\n')
}

const indented = (text: string) => text.replace(/^/gm, BELOW)

function notePieces({ entry }: Note, { columns }: Form): Piece[] {
  const { bad, text } = noteText(entry)
  const room = columns === undefined ? MOST_CHARS * 4 : Math.max(LEAST_CHARS, columns - 12)
  return [
    piece(bad ? '!' : ' ', 'bad'),
    piece(` ${clock(entry.time)} `, 'faint'),
    piece(cut(oneLine(text), bad ? Number.POSITIVE_INFINITY : room), bad ? 'bad' : 'plain'),
  ]
}

/**
 * What a line says that is about no call; `bad`: it is to stand out. Its members are read as they come: other versions
 * write others.
 */
export function noteText(entry: EntryRead): { bad: boolean; text: string } {
  const said = (name: string) => {
    const value = entry[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
  const why = said('why') === '' ? '' : `: ${said('why')}`
  switch (entry.type) {
    case 'seat':
      return { bad: said('what') === 'refused' || said('what') === 'doubted', text: seatText(said, why) }
    case 'policy':
      return { bad: false, text: `policy ${said('file')}: ${said('what')}` }
    case 'kernel':
      return { bad: false, text: `kernel ${said('kernel')}: ${said('what')}` }
    case 'suspension':
      return { bad: false, text: suspensionText(said) }
    case 'recalled':
      return { bad: false, text: `${said('call')}: its image remembered how it ended: ${said('outcome')}` }
    case 'lost':
      return { bad: true, text: `${said('lines')} lines are missing here: the journal could not be written` }
    case 'recovered':
      return {
        bad: true,
        text: `${said('bytes')} bytes at the end of ${said('file')} were no whole line, and were cut off`,
      }
    case 'quarantined':
      return {
        bad: true,
        text: `${said('file')} is not what was written: ${said('what')}. Dangerous calls are refused until: imago log acknowledge`,
      }
    case 'acknowledged':
      return { bad: false, text: `what is wrong with the journal was acknowledged by ${said('by')}` }
    case 'removed':
      return { bad: false, text: `the oldest files were removed: ${JSON.stringify(entry.files) ?? ''}` }
    default:
      return { bad: false, text: JSON.stringify(entry) }
  }
}

/** A seat, or what was let through from one; `why` says what. */
function seatText(said: (name: string) => string, why: string): string {
  switch (said('what')) {
    case 'granted':
      return `${said('seat')}, ${said('who')}, lets through without asking${why}`
    case 'revoked':
      return `${said('who')} ended what was let through${why}`
    case 'ended':
      return `what ${said('seat')}, ${said('who')}, let through has ended${why}`
    case 'doubted':
      return `${said('who')}${why}`
    case 'paused':
      return `${said('who')} is paused${why}`
    case 'lifted':
      return `${said('seat')}, ${said('who')}, wants to be asked again: all pauses have ended`
    default:
      return `${said('seat') || 'seat'} ${said('what')}, ${said('who')}${why}`
  }
}

/** `s3@7f3a in shop, of claude-code: handed to imago call by seat-1, terminal /dev/pts/3 (process 4711)` */
function suspensionText(said: (name: string) => string): string {
  const by = said('by') === '' ? '' : ` by ${said('by')}`
  const to = said('what') === 'handed' ? ` to ${said('to') || 'the agents of its project'}` : ''
  const why = said('why') === '' ? '' : `: ${said('why')}`
  return `${said('suspension')} in ${said('kernel')}, of ${said('who')}: ${said('what')}${to}${by}${why}`
}

/** All of a file is left out. */
export const leftOutText = (file: string, why: string): string =>
  `${file} cannot be read, and is left out: ${oneLine(why)}. What to do: imago log verify`

function unreadablePieces({ file, line, text, why }: Unreadable): Piece[] {
  if (why !== undefined) return [piece(`! ${leftOutText(file, why)}`, 'bad')]
  return [piece(`! ${file}, line ${line} cannot be read: ${cut(oneLine(text.slice(0, 400)), 80)}`, 'bad')]
}

const callerOf = ({ began }: CallStory) => cut(oneLine(began?.who ?? began?.caller ?? '-'), 24)

const objectOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {})

const column = (text: string, width: number) => cut(oneLine(text), Math.max(width, 24)).padEnd(width)

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`

/** Day and time, in the person's own zone. */
export function clock(time: string): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return oneLine(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** How a piece of a line looks. Each stands for itself without colours too. */
const LOOKS = { plain: '', faint: '2', strong: '1', bad: '1;31', doubt: '1;33' } as const

type Look = keyof typeof LOOKS

/** A piece of text, and how it looks. */
export interface Piece {
  readonly text: string
  readonly look: Look
}

const piece = (text: string, look: Look = 'plain'): Piece => ({ text, look })

/** Text for a terminal or a file. What would steer a terminal is a mark in it, wherever it goes. */
export function painted(pieces: readonly Piece[], { coloured }: { coloured: boolean }): string {
  return pieces
    .map(({ text, look }) => {
      const safe = escapeText(text)
      return coloured && LOOKS[look] !== '' && safe !== '' ? `\x1b[${LOOKS[look]}m${safe}\x1b[0m` : safe
    })
    .join('')
}

const lengthOf = (pieces: readonly Piece[]) => pieces.reduce((sum, { text }) => sum + text.length, 0)
