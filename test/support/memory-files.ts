import { createHash } from 'node:crypto'
import { join, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import type { Files } from '../../src/files/files.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import type { Evidence, FileChange, SeenFile } from '../../tools/contract.ts'
import { defineTool, type Tool } from '../../tools/define.ts'
import { failed, ok } from '../../tools/outcome.ts'

const none = async () => failed('not_found', { message: 'These files of a test are in no folders.' })

/** What was done to one file, for one plan. */
export interface FileEffect {
  readonly change: string
  readonly path: string
  /** What was there; empty where there was nothing. */
  readonly before: string
  readonly text: string
}

/** Files in memory, confined to one root, that count what is done to them. */
export class MemoryFiles implements Files {
  readonly root: string
  readonly texts = new Map<string, string>()
  /** Every change that was carried out, in order. */
  readonly effects: FileEffect[] = []
  /** Called at each step, before it is taken: `look`, `moved`, `lock`, `commit`. May change anything. */
  onStep: (step: string) => void | Promise<void> = () => undefined
  readonly #turns = new Map<string, Promise<void>>()

  constructor(root: string) {
    this.root = root
  }

  /** As another program would write it. */
  put(name: string, text: string): void {
    this.texts.set(join(this.root, name), text)
  }

  text(name: string): string | undefined {
    return this.texts.get(join(this.root, name))
  }

  of(): ReturnType<Files['of']> {
    const look = async (path: string) => {
      await this.onStep('look')
      const real = this.realPath({ path })
      return typeof real === 'string' ? this.#seen(real) : real
    }
    const removed = (file: SeenFile) => ({
      path: file.path,
      shown: file.shown,
      before: Buffer.from(file.text ?? ''),
      after: null,
    })
    return {
      roots: none,
      list: none,
      walk: none,
      info: none,
      look,
      lookForNew: look,
      removed,
      moved: (file, { path, shown }) => {
        const goes = removed(file)
        return [{ path, shown, before: null, after: goes.before }, goes]
      },
      changed: (file, text) => ({
        path: file.path,
        shown: file.shown,
        before: file.exists ? Buffer.from(file.text ?? '') : null,
        after: Buffer.from(text),
      }),
      decoded: bytes => {
        const text = Buffer.from(bytes).toString()
        return { text, encoding: 'utf-8', sha256: sha256(text) }
      },
      undone: async () => failed('not_found', { message: 'Nothing is kept here.' }),
    }
  }

  realPath({ path }: { readonly path: string }) {
    const real = resolve(this.root, path)
    if (real === this.root || real.startsWith(this.root + sep)) return real
    return failed('path_refused', {
      message: `${path} is outside the project. Nothing ran.`,
      details: { reason: 'outside' },
    })
  }

  async lock(paths: readonly string[]): Promise<() => void> {
    await this.onStep('lock')
    const before = paths.map(path => this.#turns.get(path))
    let release = () => {}
    const over = new Promise<void>(done => {
      release = done
    })
    for (const path of paths) this.#turns.set(path, over)
    await Promise.all(before)
    return release
  }

  async commit({ change, changes }: { readonly change: string; readonly changes: readonly FileChange[] }) {
    await this.onStep('commit')
    for (const { path, shown, before } of changes)
      if ((this.texts.get(path) ?? null) !== (before === null ? null : Buffer.from(before).toString()))
        return failed('stale_plan', {
          message: `${shown} was changed. Nothing was changed.`,
          details: { causes: [`${shown} was changed`] },
        })
    const files = changes.map(({ path, after }) => {
      const text = Buffer.from(after ?? []).toString()
      this.effects.push({ change, path, before: this.texts.get(path) ?? '', text })
      this.texts.set(path, text)
      return { path, bytes: text.length, sha256: sha256(text) }
    })
    return { type: 'committed', undo: change, files } as const
  }

  #seen(path: string): SeenFile {
    const text = this.texts.get(path)
    const shown = relative(this.root, path)
    const evidence: Evidence = {
      what: shown,
      hash: sha256(text ?? 'nothing'),
      moved: async () => {
        await this.onStep('moved')
        return this.texts.get(path) === text ? undefined : `${shown} was changed`
      },
    }
    return {
      type: 'seen',
      path,
      shown,
      exists: text !== undefined,
      text: text ?? '',
      encoding: 'utf-8',
      newline: 'none',
      bytes: text?.length ?? 0,
      sha256: text === undefined ? null : sha256(text),
      isLink: false,
      newFolders: [],
      remarks: [],
      evidence,
    }
  }
}

/** A dangerous tool that writes a file: planned, approved, carried out, as `write_file` is. */
export const putTool = defineTool({
  name: 'put',
  description: 'Writes a file for a test.',
  parameters: {
    path: z.string().min(1).max(200).describe('The file.'),
    text: z.string().max(100_000).describe('Its content.'),
  },
  level: 'dangerous',
  profile: 'full',
  categories: ['tests'],
  needs: [],
  paths: ['path'],
  examples: [],
  result: z.record(z.string(), z.unknown()),
  async plan({ path, text }, { files }) {
    const file = await files.look(path)
    if (file.type === 'failed') return file
    if (file.exists && file.text === text) return ok({ nothing: 'to do' })
    const change = files.changed(file, text)
    if ('type' in change) return change
    return {
      type: 'proposal',
      preview: { title: `Put ${file.shown}`, body: `-${file.text}\n+${text}\n` },
      evidence: [file.evidence],
      changes: [change],
      result: ({ undo }) => ({ undo }),
    }
  },
})

/** A registry with one tool, which can become another; the schema of it stays. */
export function swapped(tool: Tool, now: () => Tool | undefined): Registry {
  const registry = openRegistry([tool])
  return { ...registry, find: name => (name === tool.name ? now() : undefined) }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
