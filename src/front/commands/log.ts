import { accessSync, constants } from 'node:fs'
import { NODE_FILES } from '../../core/journal/disk.ts'
import type { LineRead } from '../../core/journal/reading.ts'
import { journalDir, segmentsIn } from '../../core/journal/segments.ts'
import { EXIT, type ExitCode, Failure, messageOf } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import type { CommandInput } from '../commands.ts'
import { acknowledge } from '../log/acknowledge.ts'
import { askedFor } from '../log/asked.ts'
import { showLines } from '../log/json.ts'
import { storyPieces } from '../log/lines.ts'
import { type Output, openOutput } from '../log/output.ts'
import type { Place } from '../log/place.ts'
import { followStories, showStories } from '../log/show.ts'
import type { Story } from '../log/stories.ts'
import { verify } from '../log/verify.ts'

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
  const asked = askedFor(options, new Date())
  const follow = options.follow === true
  if (follow) openJournalDir(dir)
  else presentJournal(dir)
  const output = openOutput()
  const place = { dir, signal: output.ended }
  try {
    if (options.json) await showLines(place, { asked, follow, show: jsonTo(output, follow) })
    else if (await showForPerson(place, { asked, follow, output, long: options.long === true }))
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
  o: { asked: ReturnType<typeof askedFor>; follow: boolean; output: Output; long: boolean },
): Promise<boolean> {
  const { asked, follow, output, long } = o
  let count = 0
  const tell = (story: Story) => {
    count++
    output.pieces(storyPieces(story, { columns: output.columns, long }))
  }
  const from = await showStories(place, { asked, show: tell })
  output.flush()
  const live = (story: Story) => {
    tell(story)
    output.flush()
  }
  if (follow) await followStories({ asked, show: live, from })
  return count === 0 && !follow
}

/** What is no line of JSON is told of beside them. */
const jsonTo = (output: Output, follow: boolean) => (line: LineRead) => {
  if (line.type === 'entry') output.json(line.text)
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
