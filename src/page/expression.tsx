import { useState } from 'preact/hooks'
import type { Methods } from '../front/protocol.ts'
import { inLine, marked } from './marks.ts'
import { Acts, Code, Failure, FrameList, type Frames, Pending, useAnswer, type ViewProps } from './parts.tsx'
import type { Envelope, Page } from './state.ts'

/** What `eval_expr` answers, as far as it is shown. */
interface Evaluated {
  readonly value_repr: string | null
  readonly displays?: readonly { readonly what: string; readonly files: readonly DisplayFile[] }[]
  readonly handle?: string
  readonly notice?: string
  readonly job?: string
}

interface DisplayFile {
  readonly path: string
  readonly media_type: string
}

/** What `inspect` answers, as far as it is shown. */
interface Inspected {
  readonly type: { readonly qualified: string }
  readonly repr?: { readonly text: string }
  readonly fields?: { readonly rows: readonly Field[]; readonly total: number }
  readonly exprs?: Readonly<Record<string, string | null>>
  readonly sample?: {
    readonly items: readonly string[]
    readonly exprs?: readonly (string | null)[]
    readonly total: number | null
  }
}

interface Field {
  readonly name: string
  readonly type_name: string
  readonly value: string
}

/** One expression that was run, or looked at. */
interface Asked {
  readonly expr: string
  readonly kernel: string | undefined
  readonly looks: boolean
  output: string
  envelope?: Envelope
  failed?: string
  cancel?(): void
}

/** The newest first. They stay while the tab is there. */
const past: Asked[] = []
const MOST = 50

/** One expression after the other: run in a program, or looked at without running anything. */
export function Expression({ page }: ViewProps) {
  const [text, set] = useState('')
  const [kernel, choose] = useState('')
  const ask = (looks: boolean) => {
    if (text.trim() === '') return
    const asked: Asked = { expr: text, kernel: kernel === '' ? undefined : kernel, looks, output: '' }
    past.unshift(asked)
    past.splice(MOST)
    if (!looks) run(page, asked)
    set('')
    page.draw()
  }
  const names = page.rows.of('kernels').map(({ name }) => name)
  return (
    <>
      <form
        onSubmit={event => {
          event.preventDefault()
          ask(false)
        }}
      >
        <label>
          An expression, or statements
          <textarea
            rows={3}
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => set(currentTarget.value)}
            onKeyDown={event => {
              if (event.key === 'Enter' && event.ctrlKey) ask(event.shiftKey)
            }}
          />
        </label>
        <p>
          <button type="submit" class="main">
            Run <kbd>Ctrl-Enter</kbd>
          </button>
          <button type="button" onClick={() => ask(true)}>
            Look, and run nothing <kbd>Ctrl-Shift-Enter</kbd>
          </button>
          {names.length > 1 && (
            <label class="beside">
              in{' '}
              <select value={kernel} onChange={({ currentTarget }) => choose(currentTarget.value)}>
                <option value="">the program of the project</option>
                {names.map(name => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          )}
        </p>
      </form>
      {past.map((asked, index) => (
        <article key={past.length - index} class="asked" aria-label="Expression">
          <Code text={asked.expr} />
          {asked.looks ? (
            <Tree page={page} expr={asked.expr} kernel={asked.kernel} isOpen />
          ) : (
            <Came page={page} asked={asked} />
          )}
        </article>
      ))}
    </>
  )
}

/** A flood of output is not drawn whole. */
const OUTPUT_CHARS = 100_000

function run(page: Page, asked: Asked): void {
  const { expr, kernel } = asked
  const params = {
    tool: 'eval_expr',
    args: { expr, ...(kernel !== undefined && { kernel }) },
    call: crypto.randomUUID(),
    follow: true,
  }
  const { answer, cancel } = page.client.call('call', params, (event: { type: string; text?: string }) => {
    if (event.type !== 'output') return
    asked.output = `${asked.output}${event.text}`.slice(-OUTPUT_CHARS)
    page.drawSoon()
  })
  asked.cancel = cancel
  answer
    .then(
      envelope => {
        asked.envelope = envelope
      },
      error => {
        asked.failed = error.message
      },
    )
    .then(() => page.draw())
}

function Came({ page, asked: { envelope, failed, output, kernel, cancel } }: ViewProps & { asked: Asked }) {
  const result = envelope?.ok ? (envelope.result as Evaluated) : undefined
  const raised = envelope?.ok === false ? envelope.error.details.exception : undefined
  return (
    <div class="came">
      {output !== '' && <Code text={output} />}
      {envelope === undefined && failed === undefined && (
        <Acts of={[['It runs: stop it', '', () => cancel?.()]]} />
      )}
      {failed !== undefined && <p class="bad">{marked(failed)}</p>}
      {envelope !== undefined && <Failure envelope={envelope} />}
      {isException(raised) && <FrameList frames={raised.frames} />}
      {result?.notice !== undefined && <p class="quiet">{marked(result.notice)}</p>}
      {result?.job !== undefined && <p class="quiet">It goes on as {result.job}.</p>}
      {result?.displays?.flatMap(({ files }) =>
        files.map(file => <Display key={file.path} page={page} file={file} />),
      )}
      {result?.value_repr != null && <Code text={result.value_repr} />}
      {result?.handle !== undefined && <Tree page={page} expr={result.handle} kernel={kernel} />}
    </div>
  )
}

const isException = (value: unknown): value is { readonly frames: Frames } =>
  typeof value === 'object' && value !== null && 'frames' in value && Array.isArray(value.frames)

function Display({ page, file }: ViewProps & { file: DisplayFile }) {
  const answer = useAnswer(() => page.client.request('display', { path: file.path }), [file.path])
  return (
    <>
      <Pending answer={answer} what="what it displays" />
      {answer !== undefined && 'result' in answer && <Shown display={answer.result} />}
    </>
  )
}

function Shown({ display: { data, media_type, bytes } }: { display: Methods['display']['result'] }) {
  if (data === null) return <p class="quiet">{bytes} bytes are too many to be shown here.</p>
  if (media_type === 'image/png') return <img alt="A figure" src={`data:image/png;base64,${data}`} />
  const bytesOfText = Uint8Array.from(atob(data), character => character.charCodeAt(0))
  return <Table html={new TextDecoder().decode(bytesOfText)} />
}

/** So many rows of a table are drawn. */
const ROWS = 200

/** Of a page that the program made, the tables, cell by cell as text: none of its markup becomes a part of this page. */
function Table({ html }: { html: string }) {
  const made = new DOMParser().parseFromString(html, 'text/html')
  const tables = [...made.querySelectorAll('table')]
  if (tables.length === 0) return <Code text={made.body.textContent ?? ''} />
  return (
    <>
      {tables.map((table, at) => (
        <div key={at} class="table">
          <table>
            <tbody>
              {[...table.rows].slice(0, ROWS).map((row, at) => (
                <tr key={at}>
                  {[...row.cells].map((cell, at) =>
                    cell.tagName === 'TH' ? (
                      <th key={at}>{inLine(cell.textContent ?? '')}</th>
                    ) : (
                      <td key={at}>{inLine(cell.textContent ?? '')}</td>
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
          {table.rows.length > ROWS && <p class="quiet">{table.rows.length - ROWS} more rows</p>}
        </div>
      ))}
    </>
  )
}

interface TreeProps extends ViewProps {
  readonly expr: string
  readonly kernel: string | undefined
  readonly label?: string
  /** What it is in short, as far as that is known without looking. */
  readonly short?: string
  readonly isOpen?: boolean
}

/** A value that opens field by field. No look runs code of the program. */
function Tree({ page, expr, kernel, label, short, isOpen = false }: TreeProps) {
  const [open, set] = useState(isOpen)
  return (
    <div class="tree">
      <button type="button" class="leaf" aria-expanded={open} onClick={() => set(!open)}>
        {open ? '▾' : '▸'} {label !== undefined && <b>{inLine(label)}</b>}{' '}
        {short !== undefined && inLine(short)}
        {label === undefined && short === undefined && inLine(expr)}
      </button>
      {open && <Opened page={page} expr={expr} kernel={kernel} />}
    </div>
  )
}

function Opened({ page, expr, kernel }: TreeProps) {
  const args = { expr, ...(kernel !== undefined && { kernel }) }
  const answer = useAnswer<Envelope>(() => page.call('inspect', args), [expr, kernel])
  const envelope = answer !== undefined && 'result' in answer ? answer.result : undefined
  const found = envelope?.ok ? (envelope.result as Inspected) : undefined
  const { rows = [], total = 0 } = found?.fields ?? {}
  const { items = [], exprs = [], total: all } = found?.sample ?? {}
  return (
    <div class="opened">
      <Pending answer={answer} what="it" />
      {envelope !== undefined && <Failure envelope={envelope} />}
      {found !== undefined && (
        <>
          <p class="quiet">{inLine(found.type.qualified)}</p>
          {rows.length + items.length === 0 && <Code text={found.repr?.text ?? ''} />}
          {rows.map(({ name, type_name, value }) => (
            <Child
              key={name}
              page={page}
              kernel={kernel}
              label={name}
              short={`${type_name} ${value}`}
              expr={found.exprs?.[name] ?? null}
            />
          ))}
          {rows.length < total && <p class="quiet">{total - rows.length} more</p>}
          {items.map((item, at) => (
            <Child key={at} page={page} kernel={kernel} short={item} expr={exprs[at] ?? null} />
          ))}
          {all != null && items.length < all && <p class="quiet">{all - items.length} more</p>}
        </>
      )}
    </div>
  )
}

function Child({ expr, label, short, ...rest }: Omit<TreeProps, 'expr'> & { expr: string | null }) {
  if (expr !== null)
    return (
      <Tree
        expr={expr}
        {...rest}
        {...(label !== undefined && { label })}
        {...(short !== undefined && { short })}
      />
    )
  return (
    <p class="leaf">
      {label !== undefined && <b>{inLine(label)}</b>} {inLine(short ?? '')}
    </p>
  )
}
