import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openFiles } from '../../src/files/files.ts'
import type { Choice, Committed, FileChange, Planned, ProjectFiles, Proposal } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { type Failed, failed, type Outcome, ok, type ToolError } from '../../tools/outcome.ts'
import { context } from '../tools/context.ts'
import { outcomeAsSaid } from './answers.ts'
import { FAST_DISK } from './failing-disk.ts'

/** A project that tools work on, and what became of its files. */
export interface Project {
  readonly root: string
  readonly files: ProjectFiles
  commit(changes: readonly FileChange[]): Promise<Committed | Failed>
  /** The bytes of a file by its path from the root; undefined where there is none. */
  read(path: string): Buffer | undefined
  /** As another program would write it. */
  write(path: string, bytes: string | Uint8Array): void
}

/** The daemon's own files, over a folder that goes with the file of tests, with those contents. `src` is a folder in it. */
export function openProject(contents: Readonly<Record<string, string | Uint8Array>> = {}): Project {
  const outer = mkdtempSync(join(realpathSync(tmpdir()), 'files-'))
  const [root, stateDir] = [join(outer, 'project'), join(outer, 'state')]
  for (const folder of [join(root, 'src'), stateDir]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const files = openFiles({ protected: [stateDir], stateDir, disk: FAST_DISK })
  let changes = 0
  const write = (path: string, bytes: string | Uint8Array) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), bytes)
  }
  for (const [path, bytes] of Object.entries(contents)) write(path, bytes)
  return {
    root,
    files: files.of(root),
    commit: all => files.commit({ change: `change-${++changes}`, changes: all }),
    read(path) {
      try {
        return readFileSync(join(root, path))
      } catch {
        return undefined
      }
    },
    write,
  }
}

export const hash = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A tool with these arguments as the call path would work it out, up to where somebody is asked. */
export function planned(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  { files }: Project,
): Promise<Planned> {
  return tool.plan(checked(tool, args), { ...context(), files })
}

export async function proposalOf(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: Project,
): Promise<Proposal> {
  const proposal = await planned(tool, args, rig)
  if (proposal.type !== 'proposal') throw new Error(`expected a proposal, got ${JSON.stringify(proposal)}`)
  return proposal
}

/** Why it comes to nothing before anybody is asked. */
export async function refusalOf(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: Project,
): Promise<ToolError> {
  const plan = await planned(tool, args, rig)
  if (plan.type !== 'failed') throw new Error(`expected a failure, got ${plan.type}`)
  return plan.error
}

/** The same, approved and carried out. `meanwhile` happens between the two. */
export async function approved(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: Project,
  meanwhile?: () => void,
): Promise<Outcome> {
  const plan = await planned(tool, args, rig)
  if (plan.type !== 'proposal') return outcomeAsSaid(tool, plan)
  meanwhile?.()
  return outcomeAsSaid(tool, await carriedOut(plan, rig))
}

/** The same with what a person chose of its hunks. A failure where that makes no plan. */
export async function chosen(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: Project,
  choices: readonly Choice[],
): Promise<Outcome> {
  const { hunks } = await proposalOf(tool, args, rig)
  const plan = hunks?.choose(choices) ?? failed('internal', { message: 'It has no hunks.' })
  return plan.type === 'failed' ? plan : outcomeAsSaid(tool, await carriedOut(plan, rig))
}

async function carriedOut({ changes, result }: Proposal, { commit }: Project): Promise<Outcome> {
  const committed = await commit(changes)
  return committed.type === 'failed' ? committed : ok(result?.(committed))
}

function checked(tool: Tool, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return tool.parameters.parse(tool.renamed(args)) as Record<string, unknown>
}
