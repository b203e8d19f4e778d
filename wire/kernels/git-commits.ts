import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { readBounded } from '../bounded-file.ts'
import { repositoryOf } from './git-index.ts'

/** What a file held in a commit. */
export interface CommittedText {
  readonly commit: string
  readonly bytes: Uint8Array
}

const GIT_MS = 2_000
const TEXT_BYTES = 2 * 1024 * 1024
const REFERENCES_BYTES = 16 * 1024 * 1024

/** Files whose commits are remembered. */
const KNOWN = 16

/**
 * What the last `most` commits that touched a file have of it, newest first; none where there is no repository, or no git.
 * A repository can make git run what it likes, so git is shown its objects alone: from a folder of ours it sees no
 * configuration, hooks, attributes or remotes of anybody's. A repository that borrows objects of another has none.
 */
export function openCommits(): (path: string, most: number) => Promise<readonly CommittedText[]> {
  const known = new Map<string, Promise<readonly CommittedText[]>>()
  return async (path, most) => {
    try {
      const at = whereIn(path)
      if (at === undefined) return []
      const key = JSON.stringify([at, most])
      const texts = known.get(key) ?? textsOf(at, most)
      known.delete(key)
      known.set(key, texts)
      for (const oldest of known.keys()) {
        if (known.size <= KNOWN) break
        known.delete(oldest)
      }
      return await texts
    } catch {
      return []
    }
  }
}

interface Where {
  /** The folder of what all worktrees of the repository share. */
  readonly shared: string
  readonly head: string
  /** Of the file, from the top. */
  readonly name: string
}

function whereIn(path: string): Where | undefined {
  const repository = repositoryOf(path)
  if (repository === undefined) return undefined
  const { top, gitDir } = repository
  const shared = resolve(gitDir, lineOf(join(gitDir, 'commondir')) ?? '.')
  const head = commitOf(lineOf(join(gitDir, 'HEAD')) ?? '', shared)
  const name = relative(top, path).split(sep).join('/')
  return head === undefined || name.includes('\n') ? undefined : { shared, head, name }
}

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

function commitOf(head: string, shared: string): string | undefined {
  if (HASH.test(head)) return head
  const [, reference] = /^ref: (refs\/[^\0]+)$/.exec(head) ?? []
  if (reference === undefined || reference.split('/').includes('..')) return undefined
  const loose = lineOf(join(shared, reference))
  if (loose !== undefined) return HASH.test(loose) ? loose : undefined
  const packed = textOf(join(shared, 'packed-refs'))?.split('\n') ?? []
  const [hash = ''] = packed.find(line => line.endsWith(` ${reference}`))?.split(' ') ?? []
  return HASH.test(hash) ? hash : undefined
}

function textOf(path: string): string | undefined {
  try {
    return readBounded(path, { most: REFERENCES_BYTES }).toString()
  } catch {
    return undefined
  }
}

const lineOf = (path: string) => textOf(path)?.trim()

async function textsOf({ shared, head, name }: Where, most: number): Promise<readonly CommittedText[]> {
  // Git would read these to their end, and a device has none. A repository that borrows objects can borrow from anywhere.
  if (existsSync(join(shared, 'objects/info/alternates'))) return []
  const shallow = textOf(join(shared, 'shallow'))
  const folder = mkdtempSync(join(tmpdir(), 'imago-git-'))
  try {
    const sha256 = head.length === 64 ? '[extensions]\nobjectformat = sha256\n' : ''
    mkdirSync(join(folder, 'refs'))
    writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/none\n')
    if (shallow !== undefined) writeFileSync(join(folder, 'shallow'), shallow)
    writeFileSync(join(folder, 'config'), `[core]\nrepositoryformatversion = 1\nbare = true\n${sha256}`)
    const env = {
      PATH: process.env.PATH,
      LC_ALL: 'C',
      GIT_DIR: folder,
      GIT_OBJECT_DIRECTORY: join(shared, 'objects'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_NO_LAZY_FETCH: '1',
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_REPLACE_OBJECTS: '1',
    }
    const listed = await git(['rev-list', `--max-count=${most}`, head, '--', name], env)
    const commits = listed
      .toString()
      .split('\n')
      .filter(line => HASH.test(line))
    const asked = commits.map(commit => `${commit}:${name}\n`).join('')
    return blobsIn(await git(['cat-file', '--batch'], env, { asked, most }), commits)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What it has printed, until its time was over or it was too much. */
function git(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { asked = '', most = 1 } = {},
): Promise<Buffer> {
  const bounds = { timeout: GIT_MS, killSignal: 'SIGKILL', maxBuffer: most * TEXT_BYTES } as const
  return new Promise(resolve => {
    const options = { ...bounds, cwd: '/', env, encoding: 'buffer' } as const
    const child = execFile('git', ['--no-pager', '--literal-pathspecs', ...args], options, (_, printed) =>
      resolve(printed),
    )
    child.stdin?.on('error', () => {})
    child.stdin?.end(asked)
  })
}

/** `HASH blob 12`, a line, the bytes, a line; `NAME missing` where a commit has taken the file away. */
function blobsIn(printed: Buffer, commits: readonly string[]): CommittedText[] {
  const texts: CommittedText[] = []
  let at = 0
  for (const commit of commits) {
    const end = printed.indexOf('\n', at)
    if (end < 0) break
    const [, kind, size] = / (\w+) (\d+)$/.exec(printed.toString('latin1', at, end)) ?? []
    at = end + 1
    if (size === undefined) continue
    const bytes = printed.subarray(at, at + Number(size))
    if (bytes.length < Number(size)) break
    at += Number(size) + 1
    if (kind === 'blob') texts.push({ commit, bytes })
  }
  return texts
}
