import type { Signal } from '../wire/signal.ts'
import type { Failed } from './outcome.ts'
import type { SeenFile } from './proposal.ts'

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
export interface Roots {
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

export type EntryKind = 'file' | 'folder' | 'link' | 'pipe' | 'socket' | 'device' | 'unknown'

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
