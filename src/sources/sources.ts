/**
 * Whether a text is what an image runs. Texts that may be are compiled beside the image, by its own interpreter, and
 * compared with the code that is there by fingerprints: what is proved to be the same is shown as what runs, and
 * nothing else is.
 */
import { realpathSync } from 'node:fs'
import type { SourceAsked, SourceProof, Sources } from '../../tools/contract.ts'
import { readBounded } from '../../wire/bounded-file.ts'
import { errnoOf } from '../../wire/errors.ts'
import type { CompiledPart, CompiledText, CompileRequest, Running } from '../../wire/kernel.ts'
import { sha256 } from '../sha256.ts'

export interface SourcesOptions {
  /** Never rejects. */
  compile(request: CompileRequest): Promise<CompiledText>
  /** What approved edits replaced in the file of that real path, newest first. */
  replaced(path: string, most: number): readonly { readonly change: string; readonly bytes: Uint8Array }[]
  /** What the last commits that touched the file of that real path have of it, newest first. Never rejects. */
  committed(
    path: string,
    most: number,
  ): Promise<readonly { readonly commit: string; readonly bytes: Uint8Array }[]>
}

/** Bytes of a text that is compiled. */
const TEXT_BYTES = 2 * 1024 * 1024

/** Edits, and commits, that are gone back through. */
const EDITS = 5

/** Compiled texts that are kept. */
const COMPILED = 16

export function openSources({ compile, replaced, committed }: SourcesOptions): Pick<Sources, 'prove'> {
  const compiled = new Map<string, Promise<CompiledText>>()

  /** Each text once: what it compiles to does not change. What could not be found out is asked again. */
  function compiledOnce(bytes: Uint8Array, { running, identity }: SourceAsked, futures: number) {
    const { interpreter, version, optimize } = running
    const { language, pid } = identity
    const key = JSON.stringify([interpreter, version, optimize, futures, sha256(bytes)])
    const known =
      compiled.get(key) ?? compile({ language, pid, interpreter, version, optimize, futures, bytes })
    compiled.delete(key)
    compiled.set(key, known)
    for (const oldest of compiled.keys()) {
      if (compiled.size <= COMPILED) break
      compiled.delete(oldest)
    }
    void known.then(({ type }) => type === 'failed' && compiled.delete(key))
    return known
  }

  async function prove(asked: SourceAsked): Promise<SourceProof> {
    const { running } = asked
    if (running.because !== null) return unknown(running.because)
    if (running.functions.length === 0)
      return running.older ? unknown(UNCHANGED) : unknown('it has no functions to compare')
    const file = bytesOf(running.path)
    const now = file.type === 'read' ? await compiledOnce(file.bytes, asked, 0) : undefined
    const inFile = now && proved(running, now, 'file')
    if (inFile !== undefined) return inFile
    for await (const { from, bytes, futures } of olderTexts(asked)) {
      const found = proved(running, await compiledOnce(bytes, asked, futures), from)
      if (found === undefined) continue
      if (now?.type === 'invalid') return { ...found, invalid: now.error }
      return { ...found, now: now === undefined ? null : lineNow(running, now) }
    }
    return refusal(running, now ?? { type: 'failed', because: file.type === 'not' ? file.because : '' })
  }

  /** The texts that what runs may have been compiled from, besides the file as it is now, likeliest first. */
  async function* olderTexts({ running, kept }: SourceAsked): AsyncGenerator<Candidate> {
    const text = running.file === null ? null : await kept(running.file)
    // A text without a file may have been compiled under future statements of others before it.
    const futures = running.path === null ? running.futures : 0
    if (text !== null) yield { from: 'as first read', bytes: Buffer.from(text), futures }
    if (running.path === null) return
    const path = realPathOf(running.path)
    for (const { change, bytes } of replaced(path, EDITS))
      yield { from: `before ${change}`, bytes, futures: 0 }
    for (const { commit, bytes } of await committed(path, EDITS))
      yield { from: `commit ${commit.slice(0, 7)}`, bytes, futures: 0 }
  }

  return { prove }
}

interface Candidate {
  /** Whose text it is, as an answer says it. */
  readonly from: string
  readonly bytes: Uint8Array
  readonly futures: number
}

const UNCHANGED = 'it has no functions to compare; the file has not changed since it was loaded'

const unknown = (because: string): SourceProof => ({ source: 'unknown', because })

function bytesOf(
  path: string | null,
): { readonly type: 'read'; readonly bytes: Buffer } | { readonly type: 'not'; readonly because: string } {
  if (path === null) return { type: 'not', because: 'its text is in no file' }
  try {
    return { type: 'read', bytes: readBounded(path, { most: TEXT_BYTES }) }
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT' || errno === 'ENOTDIR')
      return { type: 'not', because: `${path} is not there any more` }
    const why = error instanceof Error ? error.message : String(error)
    return { type: 'not', because: errno === undefined ? why.replace(/\.$/, '') : `${path}: ${errno}` }
  }
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

type Proved = Extract<SourceProof, { source: 'proved' }>

/** Where a text has all that runs; undefined where it has not. */
function proved(running: Running, text: CompiledText, from: string): Proved | undefined {
  if (text.type !== 'compiled') return undefined
  const { parts, lines } = text
  const found = running.functions.map(one => samePart(one, parts))
  if (!found.every(part => part !== undefined)) return undefined
  const [part] = found
  if (part === undefined) return undefined
  const place = running.what === 'function' ? part : bodyAround(running, parts)
  const whole = { line: 1, last: lines.length }
  const { line, last } = running.what === 'module' ? whole : (place ?? part)
  return {
    source: 'proved',
    from,
    partly: running.what !== 'function',
    begins: part.line,
    inStep: running.functions[0]?.lines === part.lines,
    beside: besideOf(running, part),
    line,
    last,
    lines,
    now: null,
  }
}

/** A decorator is a line before the code, so one that is gone has moved the lines of the rest. */
function besideOf({ functions: [one], older }: Running, { beside, lines }: CompiledPart): readonly string[] {
  if (older || one === undefined) return []
  const gone = [
    ...(one.lines === lines ? [] : ['decorators']),
    ...(one.annotated === true ? ['annotations'] : []),
  ]
  return [...new Set([...beside, ...gone])]
}

type RunningFunction = Running['functions'][number]

/** The function of a text that is the same; of several, the one of that name, and nearest to where it stood. */
function samePart(one: RunningFunction, parts: readonly CompiledPart[]): CompiledPart | undefined {
  const same = parts.filter(
    part => part.fingerprint === one.fingerprint && part.name === one.name && sameDefaults(one, part),
  )
  const named = same.filter(part => part.qualified === one.qualified)
  const far = (part: CompiledPart) => Math.abs(part.line - one.line)
  const strays = (part: CompiledPart) => Number(part.lines !== one.lines)
  return (named.length > 0 ? named : same).sort((a, b) => strays(a) - strays(b) || far(a) - far(b))[0]
}

/** A default that a literal in the text gives has to be the one that is there; of others only their number can be told. */
function sameDefaults({ defaults: live }: RunningFunction, { defaults: written }: CompiledPart): boolean {
  if (live === null || written === null) return true
  if (live.length !== written.length) return false
  return written.every(({ name, value }, index) => {
    const there = live[index]
    return there?.name === name && (value === null || value === there.value)
  })
}

/** The class statement that the functions of a class stand in. */
function bodyAround({ functions }: Running, parts: readonly CompiledPart[]): CompiledPart | undefined {
  const [first] = functions
  const end = first?.qualified.lastIndexOf('.') ?? -1
  const owner = first?.qualified.slice(0, Math.max(0, end))
  const bodies = parts.filter(part => !part.function && part.qualified === owner)
  const holds = (body: CompiledPart) => {
    const found = functions.map(one => samePart(one, parts))
    return found.every(part => part !== undefined && body.line <= part.line && part.last <= body.last)
  }
  return bodies.find(holds) ?? bodies[0]
}

/** Where a text that has something else has something of that name. */
function lineNow({ functions: [one] }: Running, text: CompiledText): number | null {
  if (text.type !== 'compiled' || one === undefined) return null
  return text.parts.find(part => part.qualified === one.qualified)?.line ?? null
}

/** Why nothing is proved. `text` is what the file compiles to now. */
function refusal(running: Running, text: CompiledText): SourceProof {
  if (text.type === 'failed') return unknown(text.because)
  if (text.type === 'invalid' && text.fault === 'encoding')
    return unknown(`${running.path} cannot be decoded: ${text.error}`)
  if (running.loader !== null) return unknown(`${running.loader} loaded it, and may rewrite what it loads`)
  if (running.older)
    return unknown('it is not what the file compiles to, though the file has not changed since it was loaded')
  if (text.type === 'invalid') return { source: 'differs', what: [], because: text.error }
  const other = running.functions.filter(one => samePart(one, text.parts) === undefined)
  return { source: 'differs', what: other.map(({ qualified }) => qualified), because: null }
}
