import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import { Decisions, type Piece, signOf } from '../front/hunks/decisions.ts'
import type { Methods, PlanRow, SeatWanted } from '../front/protocol.ts'
import { escapePlan } from '../text/escape.ts'
import { Diff } from './diff.tsx'
import { useKeys } from './keys.ts'
import { inLine, marked } from './marks.ts'
import { type Act, Acts, Answered, Code, Facts, focus, Line, Lists, type ViewProps } from './parts.tsx'

type Waiting = Extract<PlanRow, { state: 'waits' }>
type Ended = Extract<PlanRow, { state: 'ended' }>
type Plan = Methods['plan']['result']
type Send = (answer: Omit<Methods['answer']['params'], 'plan' | 'hash'>) => void

/** What waits for a person, and what became of the last that did. */
export function Plans({ page }: ViewProps) {
  const rows = page.rows('approvals').map(plan => {
    switch (plan.state) {
      case 'waits':
        return {
          key: plan.id,
          lead: plan.tool,
          title: plan.title,
          more: `${plan.warnings.length > 0 ? 'LOOK ' : ''}${plan.who}`,
          isBad: plan.warnings.length > 0,
          detail: () => <OpenPlan key={plan.hash} page={page} plan={plan} />,
        }
      case 'held':
        return {
          key: plan.call,
          lead: plan.tool,
          title: `A question of ${plan.run ?? plan.who}, for the next who sits`,
          more: `since ${new Date(plan.asked_at).toLocaleString()}`,
          open: () => page.sit(),
          detail: () => null,
        }
      case 'ended':
        return {
          key: plan.id,
          lead: plan.tool,
          title: plan.title,
          more: `${wordOf(plan)}${plan.ended?.undo ? ', can be undone' : ''} ${new Date(plan.heard - plan.ago_ms).toLocaleString()}`,
          hasEnded: true,
          detail: () => <EndedPlan page={page} end={plan} />,
        }
      default:
        return plan satisfies never
    }
  })
  const ended = rows.filter(row => 'hasEnded' in row).reverse()
  const waits = rows.filter(row => !('hasEnded' in row))
  return (
    <>
      <SeatBar page={page} />
      {page.wanted.map((wanted, at) => (
        <Wanted key={`${wanted.id} ${at}`} page={page} wanted={wanted} isFirst={at === 0} />
      ))}
      <Lists
        page={page}
        groups={[
          { label: 'What waits for you', none: 'Nothing waits.', rows: waits },
          { label: 'Earlier', none: 'Nothing was asked yet.', rows: ended },
        ]}
      />
    </>
  )
}

function SeatBar({ page }: ViewProps) {
  const { type, said } = page.seat
  const isAlone = type !== 'seated' && page.rows('seats').every(row => !('seat' in row))
  const act: Act =
    type === 'none'
      ? ['Sit', 'S', () => page.sit(), true]
      : [type === 'asking' ? 'Give up' : 'Leave the seat', '', page.leave]
  return (
    <aside class="bar" aria-label="Seat">
      <output>
        {marked(said)} {isAlone && 'Nobody sits: what needs a person is refused.'}
      </output>
      <Acts of={[act]} />
    </aside>
  )
}

/** The keys answer the first of them. */
function Wanted({ page, wanted, isFirst }: ViewProps & { wanted: SeatWanted; isFirst: boolean }) {
  const { id, who, through } = wanted
  const isStill = useStill(WANTED_MS)
  const answer = (admit: boolean) => {
    if (isStill) page.act(page.client.request('admit', { wanted: id, admit }), () => '')
  }
  return (
    <section class="card" aria-label="Somebody wants a seat" aria-busy={!isStill}>
      <p>
        <b>{marked(who)}</b> wants a seat, too. {through && `It shows the code ${through.code}. `}
        {through?.driver && <span class="bad">May be driven by {marked(through.driver)}.</span>}
      </p>
      <Acts
        of={[
          ['Let it sit', isFirst ? 'L' : '', () => answer(true)],
          ['Turn it away', isFirst ? 'T' : '', () => answer(false)],
        ]}
      />
    </section>
  )
}

const wordOf = ({ outcome }: Ended) => outcome.replaceAll('_', ' ')

function EndedPlan({ page, end }: ViewProps & { end: Ended }) {
  const { why, ended } = end
  const undo = ended?.undo ?? null
  const preview = previews.get(end.id)
  useEffect(() => scrollTo(0, 0), [])
  // The change is taken back by a plan of its own, which is answered here, too.
  const take = (change: string) => {
    page.act(page.tool('undo_change', { change }), () => `${change} is undone.`)
    page.open(undefined)
  }
  return (
    <>
      <p role="status">
        <b>{wordOf(end)}</b> {why} {ended !== undefined && `It ended: ${ended.outcome}.`}
      </p>
      <Acts of={[undo !== null && [`Undo ${undo}`, 'u', () => take(undo)]]} />
      {preview !== undefined && <Diff {...preview} />}
    </>
  )
}

/** Of the plans that were opened here, by their ids. They stay while the tab is there. */
const previews = new Map<string, { readonly text: string; readonly isDiff: boolean }>()

function OpenPlan({ page, plan }: ViewProps & { plan: Waiting }) {
  useEffect(() => page.sit(), [])
  if (page.seat.type !== 'seated') return <p class="quiet">It is shown once this page sits.</p>
  return (
    <Answered ask={() => page.client.request('plan', { plan: plan.id })} of={[plan.hash]}>
      {shown => <Shown page={page} plan={plan} shown={shown} />}
    </Answered>
  )
}

/** Nothing counts before a person can have seen what is there; what comes unasked may come under a click. In milliseconds. */
const [STILL_MS, WANTED_MS] = [150, 700]

/** Whether that time is over. */
function useStill(ms: number): boolean {
  const [isStill, still] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => still(true), ms)
    return () => clearTimeout(timer)
  }, [])
  return isStill
}

function Shown({ page, plan, shown }: ViewProps & { plan: Waiting; shown: Plan }) {
  const isStill = useStill(STILL_MS)
  const { id, hash, who, tool, kernel, times, warnings, notes } = plan
  previews.set(id, { text: shown.body ?? '', isDiff: kernel === null })
  const send: Send = answer => {
    if (!isStill) return
    page.act(page.client.request('answer', { plan: id, hash, ...answer }), outcome =>
      'why' in outcome ? `${OUTCOMES[outcome.type]} ${outcome.why}` : OUTCOMES[outcome.type],
    )
  }
  const View = shown.hunks.length > 0 ? Hunks : Whole
  return (
    <article aria-label="Plan" aria-busy={!isStill}>
      {warnings.map(warning => (
        <p key={warning} class="warning" role="alert">
          LOOK: {warning}
        </p>
      ))}
      <Facts
        of={[
          ['asks', `${who}${times > 1 ? `, ${times} times by now` : ''}`],
          ['tool', kernel === null ? tool : `${tool} in ${kernel}`],
          ...notes.map(note => ['note', note] as const),
        ]}
      />
      <View page={page} plan={plan} shown={shown} send={send} />
      <p class="quiet">
        For a script: imago approve {id} --code <code>{shown.code}</code>
      </p>
    </article>
  )
}

/** Whether its last change is on the screen, above the buttons. Where it is not, the page goes on to more of it. */
function isSeen(page: ViewProps['page'], place: Element | null | undefined): boolean {
  const end = document.querySelector('.buttons')?.getBoundingClientRect().top ?? innerHeight
  const last = [...(place?.querySelectorAll('ins, del') ?? [])].at(-1) ?? place
  const rest = (last?.getBoundingClientRect().bottom ?? 0) - Math.min(end, innerHeight)
  if (rest < 1) return true
  scrollBy(0, Math.min(rest, 0.7 * innerHeight))
  page.say('There is more of it below. The same key counts at its end.')
  return false
}

const OUTCOMES = {
  taken: 'Sent.',
  late: 'Somebody else was faster.',
  unknown: 'That plan waits no more.',
  wrong_hash: 'The plan has changed. Nothing was answered.',
  wrong_code: 'The code is wrong.',
  unfit: 'That does not fit the plan, which goes on waiting.',
} as const

interface AnswerProps extends ViewProps {
  readonly plan: Waiting
  readonly shown: Plan
  readonly send: Send
}

/** A plan that is taken or left as a whole. */
function Whole({ page, plan, shown: { body, args }, send }: AnswerProps) {
  const all = useRef<HTMLDivElement>(null)
  const [doing, set] = useState<'deny' | 'edit'>()
  const edit = (text: string) => {
    try {
      send({ decision: 'edit', args: JSON.parse(text) })
      return undefined
    } catch {
      return 'That is no JSON.'
    }
  }
  return (
    <>
      <div ref={all}>
        <Diff text={body ?? ''} isDiff={plan.kernel === null} />
      </div>
      <Acts
        depth={2}
        of={[
          ['Approve', 'y', () => isSeen(page, all.current) && send({ decision: 'approve' }), true],
          ['Deny', 'n', () => set('deny')],
          args !== null && ['Edit the arguments', 'e', () => set('edit')],
        ]}
      />
      {doing === 'deny' && (
        <Line
          label={WHY}
          takesFocus
          done={reason => send({ decision: 'deny', ...(reason !== '' && { reason }) })}
          leave={() => set(undefined)}
        />
      )}
      {doing === 'edit' && (
        <Editor
          label="The arguments, as JSON. They become a plan of their own"
          text={JSON.stringify(args, undefined, 2)}
          use={edit}
          leave={() => set(undefined)}
        />
      )}
    </>
  )
}

const WHY = 'Why? The model is told; Enter alone gives no reason.'

/** Its hunks are decided one by one, as at a terminal, and sent together. */
function Hunks({ page, shown, send }: AnswerProps) {
  const [decisions] = useState(() => new Decisions(shown.hunks))
  const [turn, redraw] = useReducer((turn: number) => turn + 1, 0)
  const [doing, set] = useState<'n' | 'd' | 'e'>()
  const list = useRef<HTMLOListElement>(null)
  const outside = useMemo(() => besides(shown), [shown])
  const { pieces, piece, at } = decisions
  useEffect(() => {
    if (turn > 0 || doing) list.current?.children[at]?.scrollIntoView({ block: 'nearest' })
  }, [turn, doing])

  const did = (act: () => void) => () => {
    act()
    set(undefined)
    redraw(undefined)
  }
  const take = did(() => decisions.decide({ type: 'accept' }))
  const takeAll = did(() => decisions.decideAll({ type: 'accept' }))
  const step = (by: 1 | -1, undecided: boolean) => did(() => decisions.go(by, { undecided }))
  const split = () => {
    if (decisions.split() === 1) page.say('This hunk cannot be split.')
  }
  const refuse = (line: string) => {
    const refusal = { type: 'refuse', reason: line === '' ? null : line } as const
    if (doing === 'd') decisions.decideAll(refusal)
    else decisions.decide(refusal)
  }
  const acts: readonly Act[] =
    piece === undefined
      ? [
          ['Send', 'y', () => send({ decision: 'choose', choices: decisions.choices() }), true],
          ['Go back', 'n', step(-1, false)],
        ]
      : [
          ['Take', 'y', () => isSeen(page, list.current?.children[at]) && take(), true],
          ['Refuse', 'n', () => set('n')],
          ['Edit', 'e', () => set('e')],
          ['Split', 's', did(split)],
          ['Take the rest', 'a', () => isSeen(page, list.current) && takeAll()],
          ['Refuse the rest', 'd', () => set('d')],
        ]
  useKeys(2, { j: step(1, true), k: step(-1, true), J: step(1, false), K: step(-1, false) })
  return (
    <>
      {outside !== '' && (
        <details open={outside.length < 4_000}>
          <summary>What it was computed from, and what it says besides</summary>
          <Code text={outside} />
        </details>
      )}
      <ol class="hunks" ref={list} aria-label="Hunks">
        {pieces.map((one, index) => (
          <HunkView
            key={`${one.of} ${one.part?.part}`}
            piece={one}
            isHere={index === at}
            come={did(() => decisions.to(index))}
          >
            {index === at && (doing === 'n' || doing === 'd') && (
              <Line label={WHY} takesFocus done={line => did(() => refuse(line))()} leave={did(() => {})} />
            )}
            {index === at && doing === 'e' && (
              <Editor
                label={`What is to be in ${one.hunk.shown} from line ${one.hunk.line} on`}
                text={one.hunk.after}
                use={text => {
                  const why = decisions.rewritten(at, text)
                  if (why === undefined) did(() => {})()
                  return why
                }}
                leave={did(() => {})}
              />
            )}
          </HunkView>
        ))}
        {piece === undefined && (
          <li class="card" role="status">
            <h3>What will be done</h3>
            {pieces.map((one, index) => (
              <p key={index}>{decided(one)}</p>
            ))}
          </li>
        )}
      </ol>
      <Acts depth={2} of={acts} />
    </>
  )
}

/** What the preview says besides its hunks; all of it where they cannot be told from it. */
function besides({ body, hunks }: Plan): string {
  let rest = body ?? ''
  for (const { diff } of hunks) {
    const at = rest.indexOf(diff)
    if (at < 0) return body ?? ''
    rest = rest.slice(0, at) + rest.slice(at + diff.length)
  }
  return rest.trim()
}

function nameOf({ hunk: { number, shown, line }, part }: Piece): string {
  return `hunk ${number}${part === undefined ? '' : `, part ${part.part}`} (${shown}:${line})`
}

function decided(piece: Piece): string {
  const { decision } = piece
  if (decision?.type !== 'refuse')
    return `${nameOf(piece)} is taken${decision?.type === 'edit' ? ' as edited' : ''}`
  return `${nameOf(piece)} is refused${decision.reason === null ? '' : `: ${inLine(decision.reason)}`}`
}

interface HunkProps {
  readonly piece: Piece
  readonly isHere: boolean
  /** What is asked of it, below. */
  readonly children: ComponentChildren
  come(): void
}

function HunkView({ piece, isHere, children, come }: HunkProps) {
  const { hunk } = piece
  const diff = useMemo(() => <Diff text={hunk.diff} isDiff />, [hunk])
  return (
    <li class={isHere ? 'hunk here' : 'hunk'} aria-current={isHere}>
      <button type="button" onClick={come}>
        <b>{nameOf(piece)}</b> {signOf(piece)}
        {hunk.why !== null && <div>{hunk.why}</div>}
      </button>
      {diff}
      {children}
    </li>
  )
}

interface EditorProps {
  readonly label: string
  readonly text: string
  /** Says why it cannot be used. */
  use(text: string): string | undefined
  leave(): void
}

function Editor({ label, text: given, use, leave }: EditorProps) {
  const [text, set] = useState(given)
  const [why, tell] = useState<string>()
  const hidden = [...escapePlan(text).hidden.keys()]
  return (
    <section class="card">
      <label>
        {label}; Ctrl-Enter uses it, Escape does not
        <textarea
          ref={focus}
          spellcheck={false}
          rows={Math.min(30, given.split('\n').length + 2)}
          value={text}
          onInput={({ currentTarget }) => set(currentTarget.value)}
          onKeyDown={event => {
            if (event.key === 'Escape') leave()
            if (event.key === 'Enter' && event.ctrlKey) tell(use(text))
          }}
        />
      </label>
      {hidden.length > 0 && <p class="warning">Characters that are not seen are in it: {hidden.join(' ')}</p>}
      {why && <p class="bad">{why}</p>}
      <Acts of={[['Use it', '', () => tell(use(text)), true]]} />
    </section>
  )
}
