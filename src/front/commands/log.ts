import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { messageOf, WireError } from '../../../wire/errors.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { NODE_FILES } from '../../journal/files.ts'
import { type EntryRead, type LineRead, readEntries } from '../../journal/reader.ts'
import { journalDir, segmentsIn } from '../../journal/segments.ts'
import { sentence, type Verification, verifyJournal } from '../../journal/verify.ts'
import { findPaths } from '../../paths.ts'
import { escapeJson, escapeText } from '../../text/escape.ts'
import { connectHere } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { filterOf, withOlderNames } from '../log/filter.ts'
import { leftOutText, type Piece, painted, storyPieces } from '../log/lines.ts'
import {
  type Filter,
  followStories,
  isFiltered,
  Mark,
  matches,
  matchesOutcome,
  matchesTool,
  type Place,
  readingBack,
  Stories,
  type Story,
  showStories,
} from '../log/stories.ts'
import { isCapable, printEnvelope, untilLeft } from '../print.ts'
import { atTerminal, hasTerminal } from '../seat/at-terminal.ts'

/**
 * `imago log`: the journal, one call in a line, or with `--json` its lines as they are. Reads the files itself, so it
 * needs no daemon. Exit code 2 where there is none that can be read; what is damaged in it is shown and left at that.
 */
export async function log(input: CommandInput): Promise<ExitCode> {
  const [what] = input.operands
  const dir = journalDir(findPaths().stateDir)
  switch (what) {
    case undefined:
      return show(dir, input)
    case 'verify':
      return verify(presentJournal(dir), input)
    case 'acknowledge':
      return acknowledge(input)
    default:
      throw new Failure(`imago log has no ${what}. It has: verify, acknowledge.`, { exit: EXIT.usage })
  }
}

async function show(dir: string, { options, printer }: CommandInput): Promise<ExitCode> {
  const asked = filterOf(options, new Date())
  const filter = asked.tool.length === 0 ? asked : await withOlderNames(asked)
  const follow = options.follow === true
  if (follow) openJournalDir(dir)
  else presentJournal(dir)
  const output = openOutput()
  const place = { dir, signal: output.ended }
  try {
    if (options.json) await showLines(place, { filter, follow, show: jsonTo(output, follow) })
    else if (await showForPerson(place, { filter, follow, output, long: options.long === true }))
      printer.err('Nothing in the journal is like that.\n')
  } catch (error) {
    throw unreadable(dir, error)
  } finally {
    output.flush()
  }
  return EXIT.done
}

/** Whether nothing was found. */
async function showForPerson(
  place: Place,
  o: { filter: ReturnType<typeof filterOf>; follow: boolean; output: Output; long: boolean },
): Promise<boolean> {
  const { filter, follow, output, long } = o
  let count = 0
  const tell = (story: Story) => {
    count++
    output.pieces(storyPieces(story, { columns: output.columns, long }))
  }
  const from = await showStories(place, { filter, show: tell })
  output.flush()
  const live = (story: Story) => {
    tell(story)
    output.flush()
  }
  if (follow) await followStories({ filter, show: live, from })
  return count === 0 && !follow
}

/** What is no line of JSON is told of beside them. */
const jsonTo = (output: Output, follow: boolean) => (line: LineRead) => {
  if (line.type === 'entry') output.json(line.text)
  else if (line.why !== undefined) output.beside(leftOutText(line.file, line.why))
  else output.beside(`${line.file}, line ${line.line} cannot be read, and is left out.`)
  if (follow) output.flush()
}

/** Throws a `Failure` where there is no journal yet. */
function presentJournal(dir: string): string {
  openJournalDir(dir)
  if (segmentsIn(dir, NODE_FILES).length > 0) return dir
  throw new Failure(
    `There is no journal in ${dir} yet: it begins with the first call. IMAGO_STATE_DIR names another state directory.`,
    { exit: EXIT.usage },
  )
}

/** Throws a `Failure` where it is there and cannot be read. */
function openJournalDir(dir: string): void {
  try {
    accessSync(dir, constants.R_OK | constants.X_OK)
    segmentsIn(dir, NODE_FILES)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadable(dir, error)
  }
}

const unreadable = (dir: string, error: unknown) =>
  error instanceof Failure
    ? error
    : new Failure(
        `The journal in ${dir} cannot be read: ${messageOf(error)}. It belongs to the user whose daemon writes it.`,
        { exit: EXIT.usage, cause: error },
      )

/** What a call was is told by its first line, which may lie before the last ones that are wanted. */
const MARGIN = 1_024

interface Lines {
  readonly filter: Filter
  readonly follow: boolean
  show(line: LineRead): void
}

/** Shows the lines that are wanted as they stand there, in order. With `follow`, goes on until the signal aborts. */
async function showLines(place: Place, { filter, follow, show }: Lines): Promise<void> {
  const choice = new Choice(filter)
  const mark = await showWhatIs(place, { choice, show })
  if (!follow) return
  for await (const line of mark.after()) if (choice.takes(line)) show(line)
}

async function showWhatIs(
  place: Place,
  { choice, show }: { choice: Choice; show(line: LineRead): void },
): Promise<Mark> {
  const { dir, signal } = place
  const { count, since } = choice.filter
  if (count === undefined) {
    const mark = new Mark(place)
    const lines = mark.passing(readEntries(dir, { signal, ...(since && { from: since }) }))
    for await (const line of lines) if (choice.takes(line)) show(line)
    return mark
  }
  const { found, mark } = await readingBack(place, {
    lines: count + (isFiltered(choice.filter) ? MARGIN : 0),
    async attempt(lines) {
      choice.forget()
      const last: LineRead[] = []
      for await (const line of lines) {
        if (choice.takes(line)) last.push(line)
        if (last.length >= 2 * count + MARGIN) last.splice(0, last.length - count)
      }
      return count === 0 ? [] : last.slice(-count)
    },
    enough: last => last.length === count,
  })
  for (const line of found) show(line)
  return mark
}

/** Which lines are wanted: a line that does not say what its call was is of the call that an earlier one told of. */
class Choice {
  readonly filter: Filter
  #stories = new Stories()

  constructor(filter: Filter) {
    this.filter = filter
  }

  forget(): void {
    this.#stories = new Stories()
  }

  takes(line: LineRead): boolean {
    const { filter } = this
    const story = this.#stories.add(line)
    if (line.type === 'unreadable') return line.why !== undefined || !isFiltered(filter)
    const { entry } = line
    if (filter.since !== undefined && entry.time < filter.since.toISOString()) return false
    if (filter.until !== undefined && entry.time > filter.until.toISOString()) return false
    const call: Partial<EntryRead> = (story.type === 'call' ? story.began : undefined) ?? entry
    return (
      matchesTool(filter, call) &&
      matches(filter.kernel, call.kernel) &&
      matches(filter.level, call.level) &&
      (filter.outcome.length === 0 ||
        (entry.outcome !== undefined && matchesOutcome(filter.outcome, entry.outcome)))
    )
  }
}

/** Where lines go: collected, since a system call for each of a million would be most of the work. */
interface Output {
  /** Width of the terminal; undefined where there is none. */
  readonly columns: number | undefined
  /** Aborted when nobody wants more: Ctrl-C, or the reader has gone. */
  readonly ended: AbortSignal
  pieces(pieces: readonly Piece[]): void
  /** A line of the journal, without its end: in a pipe as it is in the file, since its hash is over those bytes. */
  json(text: string): void
  /** A sentence for the person, on standard error. */
  beside(sentence: string): void
  flush(): void
}

const FLUSHED_CHARS = 32 * 1024

function openOutput({ stdout, stderr, env } = process): Output {
  const ended = untilLeft()
  const terminal = stdout.isTTY === true
  const coloured = terminal && isCapable(env) && !env.NO_COLOR
  let waiting = ''

  function flush() {
    if (waiting !== '' && !ended.aborted) stdout.write(waiting)
    waiting = ''
  }

  function add(text: string) {
    waiting += text
    if (waiting.length >= FLUSHED_CHARS) flush()
  }

  return {
    get columns() {
      return terminal ? stdout.columns : undefined
    },
    ended,
    pieces: pieces => add(painted(pieces, { coloured })),
    json: text => add(`${terminal ? escapeJson(text) : text}\n`),
    beside: sentence => void stderr.write(escapeText(`imago: ${sentence}\n`)),
    flush,
  }
}

/**
 * `imago log acknowledge`: a person takes note of what is wrong with the journal, so that dangerous calls are asked for
 * again. That takes a seat, as every answer of a person does; exit code 3 where none is granted, 1 if the person says no.
 */
async function acknowledge({ printer }: CommandInput): Promise<ExitCode> {
  if (!hasTerminal())
    throw new Failure(
      'imago log acknowledge asks a person, and needs a terminal that it reads from and writes to. Run it in one.',
      { exit: EXIT.usage },
    )
  await using client = await connectHere('imago log acknowledge')
  try {
    return await atTerminal({ client, printer }, async ({ seat, input }) => {
      if (seat.trouble === null) {
        printer.out(
          'The journal is in order, as far as it has been looked through. There is nothing to acknowledge.\n',
        )
        return EXIT.done
      }
      printer.out(`Dangerous calls are refused: ${seat.trouble}\n`)
      const typed = await input.ask('Take note of that, and let them be asked for again? [y]es [n]o ')
      if (typed.type !== 'line' || !/^\s*y(es)?\s*$/i.test(typed.text)) {
        printer.out('Nothing was acknowledged. Dangerous calls are refused as before.\n')
        return EXIT.failed
      }
      await seat.acknowledge()
      printer.out('Noted, and written down in the journal.\n')
      return EXIT.done
    })
  } catch (error) {
    if (error instanceof WireError && error.remote?.code === 'seat_refused')
      throw new Failure(error.remote.message, { exit: EXIT.denied, cause: error })
    throw error
  }
}

/** `imago log verify`: whether the journal is what was written, as far as it can show that. Exit code 1 if it is not. */
async function verify(dir: string, { options, printer }: CommandInput): Promise<ExitCode> {
  const progress = openProgress()
  const found = await verifyJournal(dir, { onProgress: progress.show })
  progress.clear()
  const sound = found.problem === undefined
  if (options.json) printEnvelope(printer, { ok: true, result: { sound, directory: dir, ...found } })
  else if (sound) printer.out(`${whole(found, dir)}\n${notesOf(found)}`)
  else printer.err(`${broken(found, dir)}\n${notesOf(found)}`)
  return sound ? EXIT.done : EXIT.failed
}

const whole = (found: Verification, dir: string) =>
  `The journal is what was written: ${extent(found)}, in ${dir}.`

function broken(found: Verification, dir: string): string {
  const { problem } = found
  if (problem === undefined) return ''
  const { file, line } = problem
  const path = `'${join(dir, file)}'`
  const isThere = NODE_FILES.named(join(dir, file)) !== undefined
  const how = line === null ? `ls -l ${path}` : `sed -n ${line}p ${path}`
  const look = line === null && !isThere ? '' : `\n  Look at it:     ${how}`
  return `imago: The journal is not what was written. ${sentence(problem)}
Read: ${extent(found)}, in ${dir}.
What to do:
  Keep a copy:    cp -a '${dir}' SOMEWHERE${look}
  Find out what changed it: a disk that fails, a program, or a person. Lines before that place are what was written.
  Then let dangerous calls be asked for again: imago log acknowledge`
}

const notesOf = ({ notes }: Verification) => notes.map(note => `Note: ${note}\n`).join('')

function extent({ segments, entries, bytes }: Verification): string {
  const files = segments === 1 ? '1 file' : `${segments} files`
  return `${entries} lines, ${(bytes / 1024 / 1024).toFixed(1)} MiB in ${files}`
}

/** How far it is, on one line of a terminal that is written over. */
function openProgress() {
  const { stderr } = process
  let shown = ''
  return {
    show({ bytes, of }: { bytes: number; of: number }) {
      const text = `${of === 0 ? 100 : Math.floor((100 * bytes) / of)} % read`
      if (stderr.isTTY !== true || text === shown) return
      shown = text
      stderr.write(`\r${text}`)
    },
    clear() {
      if (shown !== '') stderr.write(`\r${' '.repeat(shown.length)}\r`)
    },
  }
}
