import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { FrameShown } from '../../tools/activity.ts'
import type { Fields, Inspected, Sample } from '../../wire/kernel.ts'
import type { Fault } from './client.ts'
import { hush, useKeys } from './keys.ts'
import { inLine, marked } from './marks.ts'
import type { Page } from './state.ts'

export interface ViewProps {
  readonly page: Page
}

/** Code or output of somebody else: text, with marks. */
export const Code = ({ text }: { text: string }) => <pre class="code">{marked(text)}</pre>

/** What a person can do: its label, its key, or '' for none, what it does, and whether it is meant most. */
export type Act = readonly [label: string, key: string, act: () => void, isMain?: true]

/** Buttons in a row, and their keys. With `says` they stay in sight, below what is told there. */
export function Acts({ of, says }: { of: readonly (Act | false)[]; says?: ComponentChildren }) {
  const acts = of.filter(act => act !== false)
  // By the second click of a double one another button may have taken its place.
  const clicked = (act: () => void) => (event: MouseEvent) => event.detail < 2 && act()
  useKeys(says === undefined ? 1 : 2, Object.fromEntries(acts.map(([, key, act]) => [key, act])))
  return (
    <div class={says === undefined ? '' : 'buttons'}>
      {says !== undefined && <p role="status">{says}</p>}
      {acts.map(([label, key, act, isMain]) => (
        <button
          key={label}
          type="button"
          class={isMain && 'main'}
          onClick={clicked(act)}
          aria-keyshortcuts={key}
        >
          {inLine(label)} {key && <kbd>{key}</kbd>}
        </button>
      ))}
    </div>
  )
}

/** One row of a list, and what it opens as. */
export interface ListRow {
  readonly key: string
  /** What it is of, what it is, and what is said besides. */
  readonly lead: string
  readonly title: string
  readonly more?: string
  /** It is to be looked at. */
  readonly isBad?: boolean
  readonly detail: () => ComponentChildren
  /** In place of opening it. */
  readonly open?: () => void
}

export interface ListGroup {
  readonly label: string
  /** What is said where it has no rows. */
  readonly none: string
  readonly rows: readonly ListRow[]
}

/** Lists, or in their place the row of them that is opened. */
export function Lists({ page, groups }: ViewProps & { groups: readonly ListGroup[] }) {
  const row = groups.flatMap(({ rows }) => rows).find(({ key }) => key === page.opened)
  if (row === undefined) return <Rows page={page} groups={groups} />
  return (
    <section aria-label="Opened">
      <Acts of={[['Back', 'q', () => page.open(undefined)]]} />
      <h2>{inLine(`${row.lead} ${row.title}`)}</h2>
      {row.detail()}
    </section>
  )
}

/** `j` and `k` move the focus, so that Enter opens the row, and a screen reader reads it. */
function Rows({ page, groups }: ViewProps & { groups: readonly ListGroup[] }) {
  const list = useRef<HTMLDivElement>(null)
  const step = (by: number) => {
    const all = [...(list.current?.querySelectorAll('button') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLButtonElement) + by
    all[Math.max(0, Math.min(at, all.length - 1))]?.focus()
  }
  const [down, up] = [() => step(1), () => step(-1)]
  useKeys(1, { j: down, k: up, ArrowDown: down, ArrowUp: up })
  useLayoutEffect(() => {
    if (document.activeElement === document.body) down()
  }, [groups.some(({ rows }) => rows.length > 0)])
  return (
    <div ref={list}>
      {groups.map(({ label, none, rows }) => (
        <section key={label} aria-label={label}>
          <h2>{label}</h2>
          {rows.length === 0 && <p class="quiet">{none}</p>}
          <ul>
            {rows.map(({ key, lead, title, more = '', isBad, open = () => page.open(key) }) => (
              <li key={key}>
                <button type="button" class="row" onClick={open}>
                  <code>{inLine(lead)}</code>
                  <span>{inLine(title)}</span>
                  <span class={isBad ? 'bad' : 'quiet'}>{inLine(more)}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

interface AnsweredProps<Result> {
  ask(): Promise<Result>
  /** It is asked again where one of these has changed. What was there stays until the next answer comes. */
  readonly of: readonly unknown[]
  children(result: Result): ComponentChildren
}

/** What comes of a question to the daemon. */
export function Answered<Result>({ ask, of, children }: AnsweredProps<Result>) {
  const [answer, set] = useState<{ result: Result } | { fault: Fault }>()
  useEffect(() => {
    let isMeant = true
    ask().then(
      result => isMeant && set({ result }),
      (fault: Fault) => isMeant && fault.code !== 'lost' && set({ fault }),
    )
    return () => {
      isMeant = false
    }
  }, of)
  if (answer === undefined) return <p class="quiet">…</p>
  if ('result' in answer) return <>{children(answer.result)}</>
  const { message, next } = answer.fault
  return (
    <p class="bad" role="alert">
      {marked(`${message} ${next}`)}
    </p>
  )
}

/** A line of text that a person types. */
export function Line(props: {
  readonly label: string
  readonly isSecret?: boolean
  done(line: string): void
}) {
  const { label, isSecret = false, done } = props
  useLayoutEffect(() => hush, [])
  return (
    <form
      class="card"
      onSubmit={event => {
        event.preventDefault()
        done((event.currentTarget[0] as HTMLInputElement).value.trim())
      }}
    >
      <label>
        {label}
        <input type={isSecret ? 'password' : 'text'} autocomplete="off" maxLength={2_000} />
      </label>
    </form>
  )
}

/** What `inspect` answers, as far as it is shown; what could not be read is left out. */
interface Looked extends Pick<Inspected, 'type' | 'note' | 'exprs'> {
  readonly repr?: { readonly text?: string }
  readonly fields?: Partial<Fields>
  readonly sample?: Partial<Sample>
}

interface TreeProps extends ViewProps {
  /** null where it cannot be looked into. */
  readonly expr: string | null
  /** Where it is looked up, as `inspect` takes that. */
  readonly kernel: object
  readonly label?: string
  /** What it is in short. */
  readonly short?: string
  readonly isOpen?: boolean
}

/** A value that opens field by field. No look runs code of the program. */
export function Tree({
  page,
  expr,
  kernel,
  label = '',
  isOpen = false,
  short = isOpen ? 'Looked at; nothing was run' : '',
}: TreeProps) {
  const [open, set] = useState(isOpen)
  const line = (
    <>
      <b>{inLine(label)}</b> {inLine(short)}
    </>
  )
  if (expr === null) return <p class="leaf">{line}</p>
  return (
    <details class="leaf" open={open} onToggle={({ currentTarget }) => set(currentTarget.open)}>
      <summary>{line}</summary>
      {open && (
        <Answered ask={() => page.tool<Looked>('inspect', { expr, ...kernel })} of={[]}>
          {({ type, note, repr, exprs = {}, fields: { rows = [], total = 0 } = {}, sample = {} }) => {
            const { items = [], exprs: paths = [], total: all } = sample
            const children = [
              ...rows.map(({ name, type_name, value }) => ({
                label: name,
                short: `${type_name} ${value}`,
                expr: exprs[name] ?? null,
              })),
              ...items.map((short, at) => ({ short, expr: paths[at] ?? null })),
            ]
            const more = total + (all ?? items.length) - children.length
            return (
              <>
                <p class="quiet">{inLine(`${type.qualified}${note ? `; ${note}` : ''}`)}</p>
                {children.length === 0 && <Code text={repr?.text ?? ''} />}
                {children.map((child, at) => (
                  <Tree key={at} page={page} kernel={kernel} {...child} />
                ))}
                {more > 0 && <p class="quiet">{more} more</p>}
              </>
            )
          }}
        </Answered>
      )}
    </details>
  )
}

interface FrameListProps extends ViewProps {
  readonly frames: readonly FrameShown[]
  readonly kernel: string | undefined
  /** Where they are, as `inspect` takes it: `in error 3`. */
  readonly within: string
}

/** Frames as a program has them, the innermost last; those of libraries are one line. */
export const FrameList = ({ page, frames, kernel, within }: FrameListProps) => (
  <ol>
    {frames.map((frame, at) =>
      'folded' in frame ? (
        <li key={at} class="quiet">
          {frame.folded} frames of {inLine(frame.libraries.join(', '))}
        </li>
      ) : (
        <li key={at}>
          <b>{marked(frame.function)}</b>{' '}
          <span class="quiet">
            {marked(frame.file ?? '')}:{frame.line}
          </span>
          {frame.source && <Code text={frame.source} />}
          {frame.locals?.map(({ name, repr }) => {
            const place = { kernel, frame: `${frame.function.split('.').at(-1)} ${within}` }
            return <Tree key={name} page={page} kernel={place} expr={name} label={name} short={repr} />
          })}
        </li>
      ),
    )}
  </ol>
)
