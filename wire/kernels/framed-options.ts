import type { Duplex } from 'node:stream'
import type { Limits } from '../codec/messages.ts'
import type { ScriptNews, Stream } from '../kernel.ts'
import type { PulseTimes } from './pulse.ts'
import * as shapes from './shapes.ts'
import type { SuspensionEnd } from './suspensions.ts'

export interface FramedOptions {
  /** For messages: `python`, `myproject`. */
  readonly name: string
  /** The peer's end of the line; it proves that it knows `secret` before anything else. */
  readonly transport: Duplex
  readonly secret: string
  /** Which end has made the connection, and makes it again; the peer, unless told otherwise. */
  readonly opener?: 'peer' | 'daemon'
  /** See `LineOptions`. */
  readonly rejoinMs?: number
  broken?(why: string): void
  joined?(): void
  /** How long an evaluation waits for a link before it is sent, in ms; left out: as long as it takes. */
  readonly awaitLinkMs?: number
  /** The process's own descriptors are read by us: see `FramedKernel.hear`. */
  readonly piped?: boolean
  /** Output that belongs to no evaluation. */
  background?(stream: Stream, text: string): void
  /** News of the program that the image was started with. */
  scripted?(news: ScriptNews): void
  /**
   * Signals a process of ours that its reader must look: for code in C that holds the interpreter, and with it the
   * reader, but looks at signals. The peer raises nothing but what an interrupt that it reads then asks for.
   */
  nudge?(): void
  /** Lets go of the image, before the link is closed. Left out: closing the link is all there is to do. */
  release?(): Promise<void>
  readonly pulse?: PulseTimes
  /** How long it may take to report on an interrupt, in ms. */
  readonly interruptMs?: number
  readonly limits?: Partial<Limits>
}

export interface NoteListeners extends Pick<FramedOptions, 'background' | 'scripted'> {
  /** A suspension has ended. */
  suspensionEnded(end: SuspensionEnd): void
}

/** What a peer says unasked. What is not understood may come from a newer one, and changes nothing. */
export function hearNote(options: NoteListeners, { name, params }: { name: string; params: unknown }): void {
  if (name === 'output') {
    const note = shapes.outputNote.safeParse(params)
    if (note.success) options.background?.(note.data.stream, note.data.text)
  } else if (name === 'script') {
    const note = shapes.scriptNote.safeParse(params)
    if (note.success) options.scripted?.(note.data)
  } else if (name === 'suspension') {
    const note = shapes.suspensionEnded.safeParse(params)
    if (note.success) options.suspensionEnded(note.data)
  }
}
