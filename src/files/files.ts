import { homedir } from 'node:os'
import type { Committed, FileChange, ProjectFiles, SeenFile } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'
import { sha256 } from '../sha256.ts'
import { commit, openLocks, openUnfinished } from './commit.ts'
import { type ConfinementOptions, openConfinement } from './confine.ts'
import { type Disk, hasOpenFiles, NODE_DISK } from './disk.ts'
import type { Shows } from './list.ts'
import {
  changed,
  decode,
  type FileAccess,
  type FileView,
  type LookRequest,
  moved,
  removed,
  type Sight,
  see,
  seenOf,
} from './look.ts'
import { type Kept, keptDir, openKept, type ReplacedText, undone } from './undo.ts'
import { folderLooks, SHOWS_ALL } from './walk.ts'

/** The files that tools may look at and change, of every project. */
export interface Files {
  /** Those of one project; the same object for the same root. With `shows` only what a call may show of them. */
  of(root: string, shows?: Shows): ProjectFiles
  /**
   * The real path that a path means, for the gate's rules, whether it is there or not. `path_refused` outside the
   * roots, for Imago's own files, and for names that only look like others.
   */
  realPath(asked: { readonly root: string; readonly path: string }): string | Failed
  /**
   * Waits for its turn at all of these files, in an order in which nobody waits for each other; the answer lets the
   * next one in. Taken before evidence is checked for the last time, and held until the effect is over.
   */
  lock(paths: readonly string[]): Promise<() => void>
  /**
   * Writes the changes, all of them or none: what was there is kept first, under `change`. The bytes and the identity
   * of each file are compared once more, immediately before it is replaced; `stale_plan` where they differ. Mode and
   * owner stay; extended attributes and access lists do not. `file_failed` says in `details.holds` whether the files
   * hold what they held (`old`), what they were to hold (`new`), or that it cannot be told.
   */
  commit(order: {
    readonly change: string
    readonly changes: readonly FileChange[]
  }): Promise<Committed | Failed>
}

export interface OpenFiles extends Files {
  /** Once what a daemon left that died in the middle of a change is tidied up. Never rejects. */
  readonly tidied: Promise<void>
  /**
   * What the file of that real path held before each of its last changes, newest first, at most `most` of them. None
   * where that cannot be told.
   */
  replaced(path: string, most: number): readonly ReplacedText[]
  /**
   * Whether what is replaced, of that many bytes, can be kept for undoing, and nothing that was changed in the last day
   * goes for it. False where that cannot be told.
   */
  roomToUndo(bytes: number): boolean
}

export interface FilesOptions {
  /** Folders besides the caller's project, as the user configured them. */
  readonly roots?: readonly string[]
  /** Folders and files that are Imago's own, there or not. */
  readonly protected: readonly string[]
  /** What was there before a change is kept in `undo/` in it. It should be among the protected ones. */
  readonly stateDir: string
  readonly disk?: Disk
  readonly home?: string
  /** Whether names in a folder are reached by its descriptor; where the system can, unless given. */
  readonly throughProc?: boolean
  /** Milliseconds since 1970. */
  now?(): number
  /** Told of what was left by a daemon that died, and could not be tidied up. */
  log?(sentence: string, error?: unknown): void
  readonly limits?: Partial<FilesLimits>
}

export interface FilesLimits {
  /** Bytes of the largest file that is looked at or written. */
  readonly fileBytes: number
  /** What is kept for undoing, in bytes and in milliseconds; the oldest goes first. */
  readonly undoBytes: number
  readonly undoMs: number
}

const LIMITS: FilesLimits = {
  fileBytes: 8 * 1024 * 1024,
  undoBytes: 512 * 1024 * 1024,
  undoMs: 7 * 24 * 60 * 60 * 1_000,
}

/**
 * What a daemon left behind that died in the middle of a change is removed meanwhile: there is one daemon at a time for
 * a state directory.
 */
export function openFiles(options: FilesOptions): OpenFiles {
  const { disk = NODE_DISK, stateDir, now = Date.now, home = homedir(), roots = [] } = options
  const limits = { ...LIMITS, ...options.limits }
  const throughProc = options.throughProc ?? hasOpenFiles(disk)
  const confining: ConfinementOptions = {
    disk,
    roots,
    protected: options.protected,
    kept: keptDir(stateDir),
    home,
    now,
  }
  const looking: FileAccess = {
    disk,
    throughProc,
    confinement: openConfinement(confining),
    most: limits.fileBytes,
  }
  const kept = openKept({
    disk,
    stateDir,
    now,
    limits: { bytes: limits.undoBytes, ms: limits.undoMs, fileBytes: limits.fileBytes },
  })
  const log = options.log ?? (() => undefined)
  const unfinished = openUnfinished({ ...looking, stateDir, kept, log })
  const projects = new Map<string, ProjectFiles>()

  return {
    tidied: unfinished.tidy(),
    replaced(path, most) {
      try {
        return kept.textsOf(path, most)
      } catch (error) {
        log('What is kept for undoing cannot be looked at.', error)
        return []
      }
    },
    roomToUndo(bytes) {
      try {
        return kept.spares(bytes)
      } catch (error) {
        log('What is kept for undoing cannot be looked at.', error)
        return false
      }
    },
    of(root, shows) {
      const known = projects.get(root) ?? filesOf({ looking, kept, root })
      projects.set(root, known)
      return shows === undefined ? known : { ...known, ...folderLooks({ ...looking, root, shows }) }
    },
    realPath(asked) {
      const located = looking.confinement.locate(asked)
      return located.type === 'failed' ? located : located.path
    },
    lock: openLocks(),
    commit: order => commit({ ...looking, kept, unfinished }, order),
  }
}

function filesOf({ looking, kept, root }: { looking: FileAccess; kept: Kept; root: string }): ProjectFiles {
  // What a tool holds says nothing of devices and inodes; the sight behind it does.
  const sights = new WeakMap<SeenFile, Sight>()
  const drawn = (file: SeenFile): FileView => {
    const sight = sights.get(file)
    if (sight === undefined) throw new Error('that file was not looked at through these files')
    return { file, sight }
  }
  const look = (asked: LookRequest): SeenFile | Failed => {
    const sight = see(looking, asked)
    if (sight.type === 'failed') return sight
    const seen = seenOf(looking, asked, sight)
    sights.set(seen, sight)
    return seen
  }
  return {
    look: async path => look({ root, path }),
    lookForNew: async path => look({ root, path, newFolders: true }),
    changed: (file, text) => changed({ ...drawn(file), text, most: looking.most }),
    removed: file => removed(drawn(file)),
    moved: (file, to) => moved(drawn(file), drawn(to)),
    decoded(bytes) {
      const { text, encoding } = decode(bytes)
      return { text, encoding, sha256: sha256(bytes) }
    },
    undone: async change => undone({ ...looking, kept }, { root, change }),
    ...folderLooks({ ...looking, root, shows: SHOWS_ALL }),
  }
}
