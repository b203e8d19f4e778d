import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OpenPlan } from '../../editors/vscode/src/plan.ts'
import { Project } from '../../editors/vscode/src/project.ts'
import type { Plan } from '../../src/front/told.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'
import { type TwoFiles, twoFiles } from './diffs.ts'

const root = join(import.meta.dirname, '../..')

let dist = ''

export const vscodeStart: Row = {
  what: 'start of the extension of VS Code',
  how: 'processor time from the load of the packed extension to the end of its activation, in a process of its own each of 10 times, with an editor that does nothing; `client_ms` is the client of the language server, which it loads later, once `imago lsp` runs',
  bar: { relation: '≤', limit: 30, unit: 'ms' },
  async setUp() {
    dist = mkdtempSync(join(tmpdir(), 'imago-bench-vscode-'))
    spawnSync(process.execPath, [join(root, 'editors/vscode/vsix.mjs'), dist])
  },
  async measure() {
    const host = join(import.meta.dirname, '../reference/extension-host.cjs')
    const starts = Array.from({ length: 10 }, () => {
      const { stdout } = spawnSync(process.execPath, [host, dist], { encoding: 'utf8' })
      return JSON.parse(stdout) as { activation_ms: number; client_ms: number }
    })
    const activation_ms = median(starts.map(one => one.activation_ms))
    const client_ms = median(starts.map(one => one.client_ms))
    return { figure: activation_ms, parts: { activation_ms, client_ms } }
  },
  async tearDown() {
    rmSync(dist, { recursive: true, force: true })
  },
}

let files: TwoFiles | undefined

/** A plan that puts another word into every tenth line of a file: 1,000 hunks. */
function planOf({ before, after }: TwoFiles): Plan {
  const old = before.split('\n')
  const hunks = after.split('\n').flatMap((line, at) => {
    if (line === old[at]) return []
    const [taken, put] = [`${old[at]}\n`, `${line}\n`]
    const diff = `@@ -${at + 1} +${at + 1} @@\n-${taken}+${put}`
    const number = at / 10 + 1
    const head = `hunk ${number} of 1000 · a.py:${at + 1}`
    return { number, shown: 'a.py', line: at + 1, before: taken, after: put, diff, head, why: null }
  })
  const file = { path: '/project/a.py', shown: 'a.py', kind: 'edit' as const, to: null, before, after, hunks }
  return { hash: '', heading: ['│ Changes a.py.'], code: '', hunks, files: [file] } as unknown as Plan
}

export const vscodePlan: Row = {
  what: 'a plan of 10,000 lines prepared in VS Code, against `git diff` of its texts',
  how: '1,000 hunks: its texts with marks, the places of its hunks, all of them taken, and its summary before and after that; beside git’s process on two files with these texts, from its start to its end, 10 times each in turn',
  bar: { relation: '≤', limit: 2, unit: '×' },
  async setUp() {
    files = twoFiles(10_000)
  },
  async measure() {
    if (files === undefined) throw new Error('the row was not set up')
    const { git } = files
    const seam = { request: () => Promise.reject(new Error('none')), changed() {}, says() {} }
    const project = new Project('/project', seam)
    const plan = planOf(files)
    const [ours = [], theirs = []] = await interleaved(
      { blocks: 10, each: 1 },
      async () => {
        const open = new OpenPlan(project, plan)
        open.summary([])
        open.decisions.decideRest({ type: 'accept' })
        open.summary([])
      },
      () => git(),
    )
    const [ours_ms, git_ms] = [median(ours) / 1_000, median(theirs) / 1_000]
    return ratio(ours_ms, git_ms, { ours_ms, git_ms })
  },
  async tearDown() {
    files?.remove()
  },
}
