import type {
  Callable,
  Definition,
  DefinitionPart,
  FileSince,
  Frame,
  Inspected,
  Proof,
  Raised,
  Running,
  Stack,
  Text,
  Threads,
} from '../wire/kernel.ts'
import type { KernelContext, OtherKernel, SourceProof } from './contract.ts'
import { oneLine } from './text.ts'

/** What it takes to prove a source. */
type Proving = Pick<KernelContext, 'lookMs' | 'signal' | 'sources'> & Pick<OtherKernel, 'kernel'>

/** Compares the texts that there are with the code that runs. */
async function proofOf(running: Running, { kernel, lookMs, signal, sources }: Proving): Promise<SourceProof> {
  const { identity } = kernel
  return sources.prove({
    running,
    identity,
    kept: async file => {
      if (!identity.abilities.has('kept_text')) return null
      try {
        const looked = await kernel.look('kept_text', { file }, { deadlineMs: lookMs, signal })
        return looked.type === 'found' ? looked.value.text : null
      } catch {
        // It has ended meanwhile. What it has answered before is told all the same.
        return null
      }
    },
  })
}

const notValid = (why: string) => `The file is not valid any more: ${oneLine(why)}.`

function factsOf(proof: SourceProof): Proof {
  const facts =
    proof.source === 'proved'
      ? { from: proof.from, line: proof.now, because: null }
      : { from: null, line: null, because: sentenceOf(proof) ?? null }
  const invalid = invalidOf(proof)
  return invalid === null ? facts : { ...facts, because: notValid(invalid), invalid: oneLine(invalid) }
}

/** Why no compiler takes the file; null where one does, or nobody has looked. */
function invalidOf(proof: SourceProof): string | null {
  if (proof.source === 'differs') return proof.because
  return (proof.source === 'proved' && proof.invalid) || null
}

/** What a reader has to know of it, as a sentence; undefined where what is shown is what runs, where it stood. */
function sentenceOf(proof: SourceProof, running?: Running): string | undefined {
  switch (proof.source) {
    case 'proved': {
      if (proof.from !== 'file') return olderText(proof)
      const stood = running?.functions[0]?.line
      if (proof.partly) return ONLY_FUNCTIONS
      const beside = besideText(proof)
      if (stood === undefined || stood === proof.begins)
        return beside === undefined ? undefined : `Its code is what runs; ${beside}`
      return `The file has changed since: this began on line ${stood} when it was loaded${beside === undefined ? ', and has only moved.' : `. Its code is the same; ${beside}`}`
    }
    case 'differs': {
      const { what, because } = proof
      if (because !== null) return notValid(because)
      const named = what.slice(0, DIFFERING).map(one => `\`${oneLine(one)}\``)
      const more = what.length > DIFFERING ? ' and others' : ''
      return `The image runs another ${named.join(', ')}${more}.`
    }
    case 'unknown':
      return `Whether this is what runs cannot be told: ${oneLine(proof.because)}.`
    default:
      return proof satisfies never
  }
}

const ONLY_FUNCTIONS = 'Its functions are what runs; what else the text says cannot be compared.'

const DIFFERING = 5

function besideText({ beside }: Extract<SourceProof, { source: 'proved' }>): string | undefined {
  if (beside.length === 0) return undefined
  return `whether its ${beside.join(' and ')} are the same cannot be told.`
}

function olderText(proof: Extract<SourceProof, { source: 'proved' }>): string {
  const { from, now, partly } = proof
  const there = now === null ? '' : `; another text of that name is on line ${now} now`
  const whose = from.startsWith('commit ') ? `of ${from}` : from
  const beside = besideText(proof)
  const rest = partly ? ` ${ONLY_FUNCTIONS}` : beside === undefined ? '' : ` Its code is that; ${beside}`
  return `The file has changed since${there}. Shown is the text that runs, ${whose}.${rest}`
}

/**
 * The definition with the text that is proved to run, of at most `length` characters, or with what is wrong with the
 * one that it has. As it is where the image has told no code to compare.
 */
export async function definitionProved(
  whole: Definition,
  { length, context }: { readonly length: number; readonly context: Proving },
): Promise<Definition & { readonly proof?: Proof }> {
  const { running, parts, ...found } = whole
  const rest =
    parts === undefined ? found : { ...found, parts: await partsProved(parts, { length, context }) }
  if (running === undefined) return rest
  const proof = await proofOf(running, context)
  if (whole.current === true) return { ...rest, ...evaluatedBeside(rest, proof) }
  const facts = factsOf(proof)
  if (proof.source !== 'proved')
    return { ...rest, current: proof.source === 'differs' ? false : null, proof: facts }
  const sentence = sentenceOf(proof, running)
  const notes = sentence === undefined ? rest.notes : [sentence, ...rest.notes]
  const current = !proof.partly || running.older ? true : null
  const told = { ...rest, current, notes, proof: facts }
  if (proof.from === 'file' && isShown(rest, proof)) return told
  const { line, last, lines } = proof
  const source = cutTo(lines.slice(line - 1, last).join('\n'), length, context)
  return {
    ...told,
    source,
    because: null,
    line,
    end_line: last,
    origin: running.path === null ? rest.origin : 'file',
  }
}

/** What is to be said of a text that the image has kept since it was evaluated, beside the file that it is of. */
function evaluatedBeside({ notes }: Definition, proof: SourceProof): { notes?: string[]; proof?: Proof } {
  if (proof.source === 'unknown') return {}
  if (proof.source === 'proved' && proof.from === 'file') return { proof: factsOf(proof) }
  const now = proof.source === 'proved' ? proof.now : null
  const there = now === null ? '' : `; line ${now} of the file has another one`
  const said = `Shown is the text that runs, as it was evaluated. Its file does not have that text${there}.`
  return { notes: [said, ...notes], proof: { from: EVALUATED, line: now, because: null } }
}

/** Whose text a definition is that was evaluated since, and that its file does not have. */
const EVALUATED = 'as evaluated'

/** Each part with the text that is proved to run, or with what is known of the one that it has. */
const partsProved = (
  parts: readonly DefinitionPart[],
  { length, context }: { readonly length: number; readonly context: Proving },
): Promise<readonly DefinitionPart[]> =>
  Promise.all(
    parts.map(async ({ running, ...part }): Promise<DefinitionPart> => {
      if (running === undefined) return part
      const proof = await proofOf(running, context)
      const told = { ...part, proof: factsOf(proof) }
      if (proof.source === 'unknown') return { ...told, current: null }
      if (proof.source === 'differs')
        return { ...told, current: false, source: null, because: 'the file’s text is not what runs.' }
      const { line, last, lines } = proof
      const source = cutTo(lines.slice(line - 1, last).join('\n'), length, context)
      const sentence = sentenceOf(proof, running)
      return { ...told, ...(sentence !== undefined && { notes: [sentence] }), source, because: null, line }
    }),
  )

/** Whether the image has shown that very text; it knows what stands around it, too. */
function isShown(
  { source, line, end_line }: Definition,
  proof: Extract<SourceProof, { source: 'proved' }>,
): boolean {
  if (source === null || line === null || end_line === null) return false
  if (line > proof.line || end_line < proof.last) return false
  const text = proof.lines
    .slice(line - 1, end_line)
    .join('\n')
    .trimEnd()
  const shown = source.text.replaceAll('\r\n', '\n')
  return source.truncated ? text.startsWith(shown) : text === shown.trimEnd()
}

function cutTo(text: string, length: number, { sources }: Proving): Text {
  const characters = [...text]
  const whole = { text, truncated: false, original_len: characters.length }
  if (characters.length <= length) return whole
  return { ...whole, text: characters.slice(0, length).join(''), truncated: true, handle: sources.keep(text) }
}

/** The same value; what its sections show of a source is proved, or left out. */
export async function inspectedProved(value: Inspected, context: Proving): Promise<Inspected> {
  const { callable, exception } = value
  if (exception !== undefined && 'frames' in exception && exception.traceback !== null) {
    const { frames = [], ...rest } = exception
    const traceback = await tracebackProved(exception.traceback, frames, context)
    return { ...value, exception: { ...rest, traceback } }
  }
  if (callable === undefined || 'error' in callable || callable.running === undefined) return value
  const { running, ...rest } = callable
  const proof = await proofOf(running, context)
  const facts = factsOf(proof)
  const note = sentenceOf(proof, running)
  const noted = note === undefined ? {} : { proof_note: note }
  const told = { ...rest, proof: facts, ...noted }
  if (proof.source === 'unknown') return { ...value, callable: told }
  if (proof.source === 'differs')
    return {
      ...value,
      callable: { ...told, source_preview: null, source_truncated: false },
    }
  const text = proof.lines.slice(proof.line - 1, proof.last).join('\n')
  const most = value.limits.source_preview_max_chars ?? PREVIEW
  const shown: Callable = {
    ...told,
    source_preview: text.slice(0, most),
    source_truncated: text.length > most,
    line: proof.from === 'file' ? proof.line : rest.line,
  }
  return { ...value, callable: shown }
}

const PREVIEW = 2_000

/** The source of a callable, with what is known of it first. */
export function previewLines(facts: Callable): string[] {
  const { source_preview, source_truncated, proof, proof_note } = facts
  if (proof !== undefined && proof.from === null && source_preview === null)
    return [`source: not shown, for the file's text is not what runs. ${proof_note ?? ''}`.trimEnd()]
  const note = proof_note === undefined ? [] : [proof_note]
  if (source_preview === null) return [...note, 'source: not available']
  return [...note, source_truncated ? 'source (cut):' : 'source:', source_preview.trimEnd()]
}

/** A frame of whichever answer. Where it has `running`, its line may be another by now than the one that runs. */
export interface FrameInDoubt extends Pick<Frame, 'line' | 'source' | 'running'> {
  readonly around?: { readonly first_line: number; readonly lines: readonly string[] } | null
}

/** What is known of the line of a frame, where the image could not tell. */
interface FrameProof {
  readonly shown: { readonly source: string | null; readonly around?: FrameInDoubt['around'] } & FileSince
  /** The file has that very line in that place, and those after it. */
  readonly isOfFile: boolean
}

/** The frames, each with the line of source that is proved to run; without one where none is. */
export async function framesProved<Shown extends FrameInDoubt>(
  frames: readonly Shown[],
  context: Proving,
): Promise<readonly Shown[]> {
  if (frames.every(({ running }) => running === undefined)) return frames
  const proofs = await Promise.all(frames.map(frame => frameProof(frame, context)))
  return frames.map((frame, index) => {
    const { running, ...rest } = frame
    return running === undefined ? frame : ({ ...rest, ...proofs[index]?.shown } as Shown)
  })
}

/** The only place in which the line of a frame is proved. */
async function frameProof(frame: FrameInDoubt, context: Proving): Promise<FrameProof | undefined> {
  const { running, line, around } = frame
  if (running === undefined) return undefined
  const proof = await proofOf(running, context)
  const begun = running.functions[0]?.line
  const none = { source: null, ...(around !== undefined && { around: null }) }
  if (proof.source === 'differs') return { shown: { ...none, differs: true }, isOfFile: false }
  if (proof.source !== 'proved' || !proof.inStep || line === null || begun === undefined)
    return { shown: none, isOfFile: false }
  const moved = proof.begins - begun
  const source = proof.lines[line + moved - 1]?.trim().slice(0, LINE_LENGTH) || null
  const isOfFile = proof.from === 'file'
  const since = isOfFile ? moved !== 0 && { now: line + moved } : { differs: true as const }
  const told = { source, ...(around !== undefined && { around: linesAround(proof, line, moved) }), ...since }
  return { shown: told, isOfFile }
}

const LINE_LENGTH = 400

const LINES_BEFORE = 8
const LINES_AFTER = 6

/** The lines around one, as far as they belong to the code that is proved, by the numbers that they had. */
function linesAround(
  { begins, last, lines }: Extract<SourceProof, { source: 'proved' }>,
  line: number,
  moved: number,
) {
  const at = line + moved
  const first = Math.max(begins, at - LINES_BEFORE)
  const shown = lines.slice(first - 1, Math.max(at, Math.min(last, at + LINES_AFTER)))
  return { first_line: first - moved, lines: shown.map(text => text.slice(0, LINE_LENGTH)) }
}

/** The stacks of threads and tasks, each frame with the line that is proved to run. */
export async function stacksProved(found: Threads, context: Proving): Promise<Threads> {
  const proved = (stacks: readonly Stack[]) =>
    Promise.all(stacks.map(async one => ({ ...one, frames: await framesProved(one.frames, context) })))
  return { ...found, threads: await proved(found.threads), tasks: await proved(found.tasks) }
}

/** The exception and what it was raised from; their frames and tracebacks have no line that is not proved to run. */
export async function raisedProved(raised: Raised, context: Proving): Promise<Raised> {
  const chain: Raised[] = []
  for (let one: Raised | undefined = raised; one !== undefined; one = one.cause?.exception) chain.push(one)
  const frames = chain.flatMap(one => one.frames)
  if (!frames.some(({ running }) => running !== undefined)) return raised
  const told = async (one: Raised): Promise<Raised> => ({
    ...one,
    frames: await framesProved(one.frames, context),
    traceback: await tracebackProved(one.traceback, frames, context),
    ...(one.beside_frames !== undefined && {
      beside_frames: await tracebackProved(one.beside_frames, frames, context),
    }),
    ...(one.cause && { cause: { ...one.cause, exception: await told(one.cause.exception) } }),
  })
  return told(raised)
}

/** A frame as a traceback names it. */
type NamedFrame = FrameInDoubt & Pick<Frame, 'function' | 'file'>

/** The text of a traceback; of `frames` it keeps the lines that are proved to run. */
async function tracebackProved(
  text: string,
  frames: readonly NamedFrame[],
  context: Proving,
): Promise<string> {
  const proofs = new Map<string, FrameProof>()
  for (const frame of frames) {
    const heading = headingOf(frame)
    const proof = proofs.has(heading) ? undefined : await frameProof(frame, context)
    if (proof !== undefined) proofs.set(heading, proof)
  }
  const lines = text.split('\n')
  const kept: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    kept.push(line)
    // Within a group of exceptions a margin of bars stands before it.
    const [, margin = '', heading = ''] = /^([ |]*?)( {2}File ".*)$/.exec(line) ?? []
    const proof = proofs.get(heading)
    if (proof === undefined) continue
    const first = at + 1
    let end = first
    while (lines[end]?.startsWith(`${margin}    `)) end++
    const { source } = proof.shown
    const there = lines[first]?.slice(margin.length).trim().replace(/…$/, '')
    if (proof.isOfFile && end > first && there && source?.startsWith(there)) continue
    if (source !== null) kept.push(`${margin}    ${source}`)
    at = end - 1
  }
  return kept.join('\n')
}

/** `  File "app.py", line 3, in total`: how Python begins a frame. */
const headingOf = ({ file, line, function: name }: NamedFrame) =>
  `  File "${file}", line ${line}, in ${name.slice(name.lastIndexOf('.') + 1)}`
