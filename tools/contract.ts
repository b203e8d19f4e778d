import type {
  CallId,
  Display,
  ErrorRecord,
  EvalEvent,
  Evaluated,
  Kernel,
  KernelIdentity,
  Question,
  Running,
  Suspension,
} from '../wire/kernel.ts'
import type { Signal } from '../wire/signal.ts'
import type { Newline } from './newlines.ts'
import type { Failed, Ok, Outcome } from './outcome.ts'
import type { Displayed, Expiring, Ownership, ProjectKernel } from './shapes.ts'

export type { Displayed, DisplayedFile, Expiring, Ownership, ProjectKernel } from './shapes.ts'

/**
 * What working a call out comes to. `Ok` means that there is nothing to do: its result is the answer, nobody is asked,
 * and nothing is run. A failure is the answer too.
 */
export type Planned<Result = unknown> = Proposal<Result> | Ok<Result> | Failed

/** What a person is shown before a call that needs approval: the thing itself, never a summary of it. */
export interface Preview {
  readonly title: string
  readonly body: string
}

/**
 * A call worked out to the last byte, with nothing done yet. The gate freezes it: what a person approves is exactly
 * this, and what happens afterwards is exactly this or nothing.
 */
export interface Proposal<Result = unknown> {
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
  result?(committed: Committed): Result
  /** The parts that a person may take or leave one by one. Left out: it is taken or left as a whole. */
  readonly hunks?: Hunks<Result>
  /** The change that it takes back, where it is an undo. */
  readonly undoes?: string
}

/** What a proposal changes, in parts, and what becomes of it when a person takes only some of them. */
export interface Hunks<Result = unknown> {
  /** In the order in which they are shown; at least one. Those of one file do not share a line. */
  readonly all: readonly Hunk[]
  /**
   * The same proposal, from the same evidence, with these choices; one for every hunk, and at least one that is not
   * refused. A failure where an edited text cannot be written; it says which.
   */
  choose(choices: readonly Choice[]): Proposal<Result> | Failed
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

export const TEXT_ENCODINGS = ['utf-8', 'utf-8-bom', 'utf-16le', 'utf-16be', 'latin-1', 'binary'] as const
export type TextEncoding = (typeof TEXT_ENCODINGS)[number]

/** A file that is open in an editor, with its text there, saved or not. Lines end with LF. */
export interface OpenBuffer {
  /** As the editor calls itself. */
  readonly editor: string
  readonly text: string
}

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
export interface PlanImage extends LookContext, Pick<KernelContext, 'kernelName' | 'leases' | 'others'> {
  /** `text` as something that a preview was computed from; `moved` as `Evidence` has it. */
  seen(evidence: Omit<Evidence, 'hash'> & { readonly text: string }): Evidence
}

/**
 * Looks at many names at once, confined as a look at one file is. Links are shown and never followed; nothing but a
 * regular file is ever opened; what is Imago's own, and what the policy keeps from the calling tool, is left out and
 * counted. Every look ends in time with what it has.
 */
export interface FolderLooks {
  /** The caller's project, and the folders that the user added. `path_refused` where the caller is in none. */
  roots(): Promise<Roots | Failed>
  /** One page of one folder. `not_found`, `path_refused` or `file_failed` where it cannot be looked into. */
  list(path: string, order: ListOrder): Promise<Listed | Failed>
  /** A folder and what is below it, or one file. `invalid_args` for a glob that cannot be used. */
  walk(path: string, order: WalkOrder): Promise<Walk | Failed>
  /** What there is to know of one name without running anything. */
  info(path: string, order: LookOrder): Promise<FileInfo | Failed>
}

/** All of them are absolute, without links. */
interface Roots {
  readonly type: 'roots'
  readonly root: string
  readonly further: readonly string[]
}

/** When to end, whatever was found: `ms` milliseconds from now, or as soon as the signal aborts. */
export interface LookOrder {
  readonly signal: Signal
  readonly ms: number
}

export interface ListOrder extends LookOrder {
  /** By name in the order of its bytes; by size or time the largest or latest first, and then there is no next page. */
  readonly by: 'name' | 'size' | 'modified'
  readonly limit: number
  /** Only names after this one, which need not be there. */
  readonly after: string | undefined
  /** Also what an ignore file leaves out. */
  readonly ignored: boolean
  /** Also names that begin with a dot. */
  readonly hidden: boolean
  /** As in `WalkOrder`, but that they count from `from`: as `shown` has it, the folder itself unless given. */
  readonly exclude?: readonly string[]
  readonly from?: string | undefined
}

export interface WalkOrder extends LookOrder {
  /** Globs as an ignore file has them, from the folder that is walked; what one matches, and all in it, is left out. */
  readonly exclude: readonly string[]
  /** Only what one of these matches, and what is in a folder that one matches. Empty: everything. */
  readonly matching: readonly string[]
  readonly ignored: boolean
  /** Only what comes after that path, as an entry's `shown` has it. */
  readonly after: string | undefined
}

export const ENTRY_KINDS = ['file', 'folder', 'link', 'pipe', 'socket', 'device', 'unknown'] as const
export type EntryKind = (typeof ENTRY_KINDS)[number]

/** One name in a folder. */
export interface Entry {
  /** With U+FFFD for what is no UTF-8 in it; `isNameable` says whether it can be named in an argument. */
  readonly name: string
  /** From the root of the project, or absolute in a further folder. */
  readonly shown: string
  readonly isNameable: boolean
  readonly kind: EntryKind
  /** Of a file; null otherwise. */
  readonly bytes: number | null
  /** Milliseconds since 1970; null where it could not be told. */
  readonly changedMs: number | null
  /** The text of a link, wherever that leads; null otherwise. */
  readonly target: string | null
  /** Whether an ignore file leaves it out. */
  readonly ignored: boolean
}

/** How many names were passed over, and why. */
export interface LeftOut {
  /** By an ignore file; `.git` is one of these. */
  ignored: number
  /** By the globs of the call. */
  excluded: number
  /** They begin with a dot. */
  hidden: number
  /** Imago's own. */
  own: number
  /** A rule of the policy denies them to the tool, or has a person asked about them. */
  withheld: number
  /** Folders or files that the system did not let us look at. */
  unreadable: number
  /** Folders below the deepest that is walked. */
  deep: number
  /** They went, or were moved, while they were looked at. */
  vanished: number
}

/** Why a look ended before its end. */
export type Cut = 'time' | 'cancelled' | 'entries'

export interface Listed {
  readonly type: 'listed'
  /** The folder, from the root of the project; `.` is the root itself. */
  readonly shown: string
  readonly entries: readonly Entry[]
  /** All names in the folder, those that are left out included; null where they were not all read. */
  readonly total: number | null
  /** On this page. */
  readonly left: LeftOut
  /** The `after` of the next page; null at the end, and for every order but that by name. */
  readonly next: string | null
  /** Whether something may be missing, besides what is on further pages. */
  readonly cut: Cut | null
  readonly remarks: readonly string[]
}

/** A walk, which goes on as its entries are asked for. */
export interface Walk {
  readonly type: 'walk'
  /** Where it begins. */
  readonly shown: string
  readonly remarks: readonly string[]
  /** In the order of their paths, part by part; a folder before what is in it. Can be asked for once. */
  entries(): AsyncIterable<WalkedEntry>
  /** What was left out so far. */
  readonly left: Readonly<LeftOut>
  /** Names that were looked at so far. */
  readonly looked: number
  /** Null until it ended, and where it came to its end. */
  readonly cut: Cut | null
  /** Whether the time is over or the call was cancelled; lets others have their turn. */
  isOver(): boolean | Promise<boolean>
}

export interface WalkedEntry extends Entry {
  /** Whether a folder above it matched already. */
  readonly isWithinMatch: boolean
  /**
   * The text of a file, while the next entry has not been asked for. A file in which the bytes of `holding` cannot be
   * is answered as `without`, and its text is not decoded; a few that do not hold it are read all the same.
   */
  read(how: { readonly most: number; readonly holding: string | null }): FileText
}

export type FileText =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'without' | 'binary' | 'too_large' | 'vanished' }
  | { readonly type: 'unreadable'; readonly errno: string }

/** All that is known of one file, folder, or other thing. */
export interface FileInfo {
  readonly type: 'info'
  /** The real path: absolute, links resolved. */
  readonly path: string
  readonly shown: string
  readonly kind: EntryKind
  /** Of a file; null otherwise. */
  readonly bytes: number | null
  /** Permissions only, as in `chmod`. */
  readonly mode: number
  readonly changedMs: number
  /** Of a file that is text and not too large; null otherwise. */
  readonly content: (Pick<SeenFile, 'encoding' | 'newline'> & { readonly lines: number }) | null
  /** Names in a folder, all of them; null otherwise, and where they are too many to be counted in time. */
  readonly names: number | null
  /** The line of the ignore file that leaves it out, or a folder that it lies in: `.gitignore:3: *.log`. */
  readonly ignoredBy: string | null
  /** Why no tool changes it, whoever approves, as a clause; null where one can. */
  readonly unchangeable: string | null
  readonly remarks: readonly string[]
}

/** What it takes to look, and no more. */
export type LookContext = Pick<KernelContext, 'lookMs' | 'signal' | 'jobs'> & {
  readonly kernel: Pick<Kernel, 'identity' | 'look'>
}

/** What a call can do, never how it is meant. */
export const LEVELS = ['safe', 'cautious', 'dangerous'] as const

export type Level = (typeof LEVELS)[number]

/** The stricter of two levels: a call may raise its own, never lower it. */
export const stricter = (one: Level, other: Level): Level =>
  LEVELS.indexOf(other) > LEVELS.indexOf(one) ? other : one

/** The named sets of tools. */
export const PROFILES = ['core', 'live', 'full', 'desk'] as const

export type Profile = (typeof PROFILES)[number]

/** The profiles whose tools each contains besides its own. */
export const CONTAINED: Readonly<Record<Profile, readonly Profile[]>> = {
  core: [],
  live: ['core'],
  full: ['core', 'live'],
  desk: ['core', 'live'],
}

/** Proves that a text is what an image runs. */
export interface Sources {
  /** Never rejects: what cannot be compared is `unknown`. */
  prove(asked: SourceAsked): Promise<SourceProof>
  /** Keeps the text of a source that is cut, and answers its handle, for `read_more`. */
  keep(text: string): string
}

export interface SourceAsked {
  readonly running: Running
  readonly identity: Pick<KernelIdentity, 'language' | 'pid'>
  /** The text that the image keeps of a file as it was first read; null where it keeps none, or cannot say. */
  kept(file: string): Promise<string | null>
}

export type SourceProof =
  | {
      readonly source: 'proved'
      /** Whose text it is: `file`, `as first read`, `before CHANGE`, or `commit HASH`. */
      readonly from: string
      /** Of a class or module: compared are its functions, and nothing else of it. */
      readonly partly: boolean
      /** The line on which the code itself begins, in `lines`; `line` is that of what is shown. */
      readonly begins: number
      /** Its lines stand, one by one, as they did when it was compiled: it has moved as a whole, or not at all. */
      readonly inStep: boolean
      /** What its definition says, or may have said, besides, and cannot be compared: `decorators`. */
      readonly beside: readonly string[]
      readonly line: number
      readonly last: number
      /** All lines of that text. */
      readonly lines: readonly string[]
      /** Where the file has something of that name now, if the text is not the file's. */
      readonly now: number | null
      /** Why the file is not valid any more. */
      readonly invalid?: string
    }
  /** The file has another text. `what`: the functions that differ; `because`: why it is not valid any more. */
  | { readonly source: 'differs'; readonly what: readonly string[]; readonly because: string | null }
  /** A clause. */
  | { readonly source: 'unknown'; readonly because: string }

/** What any handler is given. */
export interface ToolContext {
  readonly kernels: CallerKernels
  readonly call: CallId
  /** Who calls, as an image's history names them. */
  readonly who: string
  /** The connection that it came over. */
  readonly caller: string
  /** The level at which this run was let through the gate. A handler never does more than it allows. */
  readonly level: Level
  /** Aborts when the caller cancels. */
  readonly signal: Signal
  /** How long a look may take, in milliseconds. */
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
  /** A path as the caller means it: a relative one is one in the caller's project. Always absolute. */
  pathOf(path: string): string
  readonly files: ProjectFiles
  /** The file of that real path as an editor of the caller's project has it open; undefined where none offers it. */
  buffer(path: string): Promise<OpenBuffer | undefined>
  readonly sources: Sources
  /** What processes of the project have left of their errors, as far as the caller may look into them. */
  past(): PastErrors
}

/** Of processes that have gone, newest first, each with its file; and files that are not read. */
export interface PastErrors {
  readonly gone: readonly PastProcess[]
  /** Files in which processes have left their last words. */
  readonly words?: readonly string[]
  readonly skipped: readonly { readonly file: string; readonly reason: string }[]
}

export type PastProcess = Omit<ErrorRecord, 'imago'> & { readonly file: string }

/** The kernels of the caller's project, for the tools that are about them. */
export interface CallerKernels {
  list(): Promise<{
    readonly kernels: readonly ProjectKernel[]
    readonly searched: string
    /** What the project would join, once a person accepts it, as a sentence. */
    readonly waits?: string
  }>
  /**
   * Makes that one the kernel of the caller's calls without a name, attached on the way. `elsewhere` allows one outside
   * the project.
   */
  choose(name: string, how: { readonly elsewhere: boolean }): Promise<KernelChoice | Failed>
}

type KernelChoice =
  | { readonly type: 'chosen'; readonly kernel: ProjectKernel }
  /** It is not of the project; `what` says what it is. Nothing was done. */
  | { readonly type: 'elsewhere'; readonly what: string }

/** What the handler of a tool with `needs` is given besides: an image that has those abilities. */
export interface KernelContext extends ToolContext {
  readonly kernel: Kernel
  readonly kernelName: string
  /** The other kernels that live in the project, and that this tool may look into, for what this one does not have. */
  others(): readonly OtherKernel[]
  /** Where news of an evaluation goes; it keeps the output, and shows it to whoever watches. */
  readonly output: OutputLog
  /** The evaluations of this kernel that are suspended. */
  readonly leases: Leases
  /** The image was given this call before: it is asked what became of it, and begins nothing. */
  readonly again: boolean
  /** Puts a question of the running code to the caller; rejects where nobody can answer. */
  ask(question: Question): Promise<string>
  /** Whether somebody waits for the call who could answer. */
  readonly canAsk: boolean
}

/** A kernel that a call is not for. */
export interface OtherKernel {
  readonly name: string
  readonly kernel: Pick<Kernel, 'look' | 'identity'>
}

/** Whose the suspended evaluations of one kernel are, for one call. Anybody may look at them; only owners act on them. */
export interface Leases {
  /** Whether errors may suspend the evaluations of this caller: it is shown the tools to go on with. */
  readonly maySuspend: boolean
  /** Undefined for one that has ended, or that this daemon has not seen stop: nobody acts on those. */
  ownershipOf(id: string): Ownership | undefined
  /** It was looked at: it waits for longer, where this caller is its owner or a person. */
  looked(id: string): void
  /** How long it waits for its owner from now on, in ms: 0 for one that is not known. */
  expiresInMs(id: string): number
  /**
   * How one has ended, and who did it, in sentences; left out, the newest of this caller's own. Undefined for one that is
   * not known, or waits.
   */
  endOf(id?: string): string | undefined
  /** This call was answered with a suspension, which is its caller's unless it is somebody's already. */
  own(suspension: Suspension): Expiring
  /** This call begins to run code in it, or to resume it. The answer is called with what that came to. */
  acts(id: string): (evaluated: Evaluated) => void
}

/** The output of one call, bounded, in order. */
export interface OutputLog {
  add(event: EvalEvent): void
  soFar(): OutputSoFar
  /** What the code has drawn or displayed: pictures and pages are kept as files. */
  display(displays: readonly Display[], omitted: number): void
}

export interface OutputSoFar {
  readonly stdout: string
  readonly stderr: string
  /** Both streams, in the order in which they were written. */
  readonly output: string
  readonly truncated: boolean
  /** Characters that came too fast, or were too many, to be kept. */
  readonly dropped: number
  /** Leads to the whole of `output`, where it was cut. */
  readonly handle?: string
  readonly displays?: readonly Displayed[]
  /** How many displays are not among them, being too many. */
  readonly displaysOmitted?: number
}

/** Calls that outlived the patience of their caller, by name. */
export interface Jobs {
  find(name: string): Job | undefined
  names(): readonly string[]
}

export interface Job {
  readonly name: string
  readonly call: CallId
  readonly tool: string
  /** Null, as the kernel is, for a tool that works without one. */
  readonly kernelName: string | null
  readonly kernel: Kernel | null
  /** Milliseconds since it was dispatched or put before a person, or that it took. */
  readonly elapsedMs: number
  /** Absent while it runs. */
  readonly outcome: Outcome | undefined
  /** Set while a person is asked, before anything of it has run. */
  readonly asking: Asking | undefined
  readonly output: OutputLog
  /** Resolves when it ends, when the time is over, or when `signal` aborts; never rejects. */
  wait(options: { readonly ms: number; readonly signal: Signal }): Promise<void>
}

/** A plan that waits for a person. */
export interface Asking {
  readonly plan: string
  /** For how long by now, in milliseconds. */
  readonly waitedMs: number
  /** Gives up: the job ends as `withdrawn`, unless it was let through in the same moment. */
  withdraw(): void
}

/** Long texts that the daemon keeps, by handle. */
export interface Texts {
  owns(handle: string): boolean
  /** Whether there was ever a text of that handle, kept or not. */
  issued(handle: string): boolean
  /** `undefined` where there is none, or it has made room for newer ones. */
  read(part: { readonly handle: string; readonly from: number; readonly count: number }): TextPart | undefined
}

interface TextPart {
  readonly text: string
  readonly total: number
  readonly next: number | null
}
