import type { KernelContext } from './define.ts'
import type { FolderLooks } from './entries.ts'
import type { Looking } from './looked.ts'
import type { Newline } from './newlines.ts'
import type { Failed, Ok } from './outcome.ts'

/**
 * What working a call out comes to. `Ok` means that there is nothing to do: its result is the answer, nobody is asked,
 * and nothing is run. A failure is the answer too.
 */
export type Planned = Proposal | Ok<unknown> | Failed

/** What a person is shown before a call that needs approval: the thing itself, never a summary of it. */
export interface Preview {
  readonly title: string
  readonly body: string
}

/**
 * A call worked out to the last byte, with nothing done yet. The gate freezes it: what a person approves is exactly
 * this, and what happens afterwards is exactly this or nothing.
 */
export interface Proposal {
  readonly type: 'proposal'
  readonly preview: Preview
  /**
   * All that the preview was computed from, live definitions included: of an image, a plan binds nothing else by itself
   * than that it is the same one. Each is checked again, under a lock, at the moment of the effect.
   */
  readonly evidence: readonly Evidence[]
  /** The whole effect on files. Empty for a tool that changes none, and whose handler does what was approved. */
  readonly changes: readonly FileChange[]
  /** The result of the call once the changes are in the files. With `changes`, and only then. */
  result?(committed: Committed): unknown
  /** The parts that a person may take or leave one by one. Left out: it is taken or left as a whole. */
  readonly hunks?: Hunks
}

/** What a proposal changes, in parts, and what becomes of it when a person takes only some of them. */
export interface Hunks {
  /** In the order in which they are shown; at least one. Those of one file do not share a line. */
  readonly all: readonly Hunk[]
  /**
   * The same proposal, from the same evidence, with these choices; one for every hunk, and at least one that is not
   * refused. A failure where an edited text cannot be written; it says which.
   */
  choose(choices: readonly Choice[]): Proposal | Failed
}

/** Whole lines of one file, and what is to stand in their place. */
export interface Hunk {
  /** From 1. As the caller counted them, where the caller gave them. */
  readonly number: number
  /** The real path, as in the change that it is a part of. */
  readonly path: string
  /** The same from the project's root. */
  readonly shown: string
  /** The first line that it replaces, or before which it puts its own; from 1. */
  readonly line: number
  /** The lines that stand there, to the last byte; empty where it only adds some. */
  readonly before: string
  /** The lines that are to stand there; empty where it only takes some away. */
  readonly after: string
  /** The line end of its file, as which LF in an edited text is written. Left out: it is written as it is. */
  readonly newline?: Newline
  /** Nothing of its file comes after it, so that an edited text needs no line end. Left out: something does. */
  readonly isLast?: boolean
  /** As `git diff` shows it, with three lines of context: `@@ -12,7 +12,8 @@`, and its lines. */
  readonly diff: string
  /** What the caller says it is for. */
  readonly why: string | null
}

/** What a person decided of one hunk. */
export type Choice =
  | { readonly hunk: number; readonly decision: 'accept' }
  | { readonly hunk: number; readonly decision: 'refuse'; readonly reason: string | null }
  /** `text` is to stand there instead of `after`: whole lines, in which LF stands for the line ends of the file. */
  | {
      readonly hunk: number
      readonly decision: 'edit'
      readonly text: string
      readonly reason: string | null
      /** The person wrote nothing of it: they split the hunk, took some of its parts as proposed, and refused the others. */
      readonly inPart?: true
    }

/** One thing that a preview was computed from, as it was seen then. */
export interface Evidence {
  /** For people: `src/shop.py`, `the definition of shop.price`. */
  readonly what: string
  /** The SHA-256 of what was seen, its identity included; 64 hexadecimal digits. */
  readonly hash: string
  /**
   * Why it is not what was seen any more, as a clause for a person (`src/shop.py was changed: …`); undefined while it
   * is. Never throws: what cannot be looked at has moved.
   */
  moved(): Promise<string | undefined>
}

/** The content that one file is to have. Made by `ProjectFiles`, and of no use to anything else. */
export interface FileChange {
  /** The real path: absolute, links resolved. */
  readonly path: string
  /** The same from the project's root, with `/` between its parts. */
  readonly shown: string
  /** Null for a file that is not there yet. */
  readonly before: Uint8Array | null
  /** Null where the file is to go. */
  readonly after: Uint8Array | null
  /** Which folder, and which file in it, that was. Opaque, and carried along: without it nothing is committed. */
  readonly identity?: FileIdentity
}

export interface FileIdentity {
  readonly folder: string
  /** Null for a file that is not there yet. */
  readonly file: string | null
  /** The permissions of a file that is to be made again, or moved here. Left out: what the user's umask leaves of 666. */
  readonly mode?: number
  /** Whose such a file is, as `uid:gid`. Left out: the user's. */
  readonly owner?: string
  /**
   * How many of the folders that it is in come and go with it, counted from the innermost: before a file is made, those
   * are made, and after one has gone, those go in which nothing else is. Left out: none.
   */
  readonly folders?: number
}

/** A file of the project as a tool sees it: regular, inside the roots, none of Imago's own. */
export interface SeenFile {
  readonly type: 'seen'
  readonly path: string
  readonly shown: string
  /** False where there is none yet. Then the text is empty. */
  readonly exists: boolean
  /** The whole content, newlines as they stand in the file; null where it is not text. */
  readonly text: string | null
  readonly encoding: TextEncoding
  /** How its lines end; `none` where it has at most one line. */
  readonly newline: '\n' | '\r\n' | '\r' | 'mixed' | 'none'
  readonly bytes: number
  /** Of the whole content; null where there is none. */
  readonly sha256: string | null
  /** Whether the last name of the path is a link; then this is the file that it leads to. */
  readonly isLink: boolean
  /** The folders that are missing for it, from the project's root, outermost first; empty for a file that is there. */
  readonly newFolders: readonly string[]
  /** What a person should know before it is changed: it was reached through a link, it has further names, … */
  readonly remarks: readonly string[]
  readonly evidence: Evidence
}

export type TextEncoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be' | 'latin-1' | 'binary'

/** The files of the caller's project, confined to its roots by real path and by component. */
export interface ProjectFiles extends FolderLooks {
  /** Looks at one file, in one piece. `path_refused`, `not_found` or `file_failed` where it cannot be looked at. */
  look(path: string): Promise<SeenFile | Failed>
  /** The same, but the folder of a file that is not there may be missing too. Then it is made with the file. */
  lookForNew(path: string): Promise<SeenFile | Failed>
  /**
   * That file with another text, in the encoding that it has; nothing is written. `text` is taken as it is, newlines
   * included. `not_text` where its encoding cannot spell the text, `too_large` past the limit.
   */
  changed(file: SeenFile, text: string): FileChange | Failed
  /** That file taken away; what it holds is kept, to be undone. For one that is there. */
  removed(file: SeenFile): FileChange
  /**
   * That file under the other path, where nothing is: first it appears there, with its bytes, mode and owner, and then
   * it goes here. One change of two files, which are committed and undone together.
   */
  moved(file: SeenFile, to: SeenFile): readonly [appears: FileChange, goes: FileChange]
  /** Those bytes as the content of a file would be read: its text, null where it is none, and how it is spelt. */
  decoded(bytes: Uint8Array): Pick<SeenFile, 'text' | 'encoding' | 'sha256'>
  /** The change that takes back the one of that name, or why there is none: `not_found`, or `stale_plan` where the file has moved on. */
  undone(change: string): Promise<Undone | NotUndone>
}

export interface Undone {
  readonly type: 'undone'
  readonly files: readonly SeenFile[]
  readonly changes: readonly FileChange[]
}

export interface NotUndone extends Failed {
  /** The real paths of the files that the change was of, as far as it is known. */
  readonly about?: readonly string[]
}

/** The approved changes are in the files. */
export interface Committed {
  readonly type: 'committed'
  /** The name under which it can be undone: `imago undo NAME`. */
  readonly undo: string
  readonly files: readonly CommittedFile[]
}

export interface CommittedFile {
  readonly path: string
  readonly bytes: number
  /** Null for a file that is gone. */
  readonly sha256: string | null
}

/** What working out a proposal is given. It can look, and cannot change anything. */
export interface PlanContext {
  readonly files: ProjectFiles
  /** The image that the call is for; only where its tool needs one. */
  readonly image?: PlanImage
  pathOf(path: string): string
}

/** An image as far as a plan may look at it. */
export interface PlanImage extends Looking, Pick<KernelContext, 'kernelName' | 'leases' | 'others'> {
  /** `text` as something that a preview was computed from; `moved` as `Evidence` has it. */
  seen(evidence: Omit<Evidence, 'hash'> & { readonly text: string }): Evidence
}
