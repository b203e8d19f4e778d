import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Decisions, decisionText, type Piece, pieceName } from '../front/hunks/decisions.ts'
import type { Methods, PlanRow, SeatWanted } from '../front/protocol.ts'
import { editorNotes, whyNot } from '../front/seat/plan-text.ts'
import { escapePlan } from '../text/escape.ts'
import { Diff } from './diff.tsx'
import { hush, useKeys } from './keys.ts'
import { inLine, marked, when } from './marks.ts'
import { type Act, Acts, Answered, Code, Lists, type ViewProps } from './parts.tsx'
import type { Page } from './state.ts'

type Waiting = Extract<PlanRow, { state: 'waits' }>
type Ended = Extract<PlanRow, { state: 'ended' }>
type Plan = Methods['plan']['result']
type Answer = Omit<Methods['answer']['params'], 'plan' | 'hash'>

/** A plan that was opened here, and what a person has decided of it and typed by now. */
interface Known {
  readonly plan: Waiting
  readonly shown: Plan
  readonly decisions: Decisions
  /** By the names of the fields. */
  readonly typed: Map<string, string>
  /** The key whose field is open. */
  field?: 'n' | 'd' | 'e' | undefined
  /** The answer of this page, unless it was not taken. */
  sent?: Answer | undefined
}

/** By the ids of the plans. They stay while the tab is there. */
const plans = new Map<string, Known>()

const textsOf = ({ typed }: Known) => [...typed.values()].filter(text => text !== '')

const isUnsent = (known?: Known): boolean =>
  known?.sent === undefined &&
  known !== undefined &&
  textsOf(known).length + known.decisions.tally.decided > 0

/** Whether something was decided or typed of what waits, and was not sent. */
export const hasUnsent = (page: Page): boolean =>
  page.rows('approvals').some(plan => plan.state === 'waits' && isUnsent(plans.get(plan.id)))

/** What waits for a person, and what became of the last that did. */
export function Plans({ page }: ViewProps) {
  const rows = page.rows('approvals').map(plan => {
    const { tool: lead } = plan
    if (plan.state === 'held') {
      const title = `A question of ${plan.run ?? plan.who}, for the next who sits`
      const more = `since ${when(plan.asked_at)}`
      return { key: plan.call, lead, title, more, open: () => page.sit(), detail: () => null }
    }
    const { id: key, title } = plan
    if (plan.state === 'waits') {
      const isBad = plan.warnings.length > 0
      const detail = () => <OpenPlan key={plan.hash} page={page} plan={plan} />
      return { key, lead, title, more: `${isBad ? 'LOOK ' : ''}${plan.who}`, isBad, detail }
    }
    const more = `${wordOf(plan)}${plan.ended?.undo ? ', can be undone' : ''} ${when(plan.heard - plan.ago_ms)}`
    const detail = () => <EndedPlan page={page} end={plan} />
    return { key, lead, title, more, hasEnded: true, detail }
  })
  const ended = rows.filter(row => 'hasEnded' in row).reverse()
  const waits = rows.filter(row => !('hasEnded' in row))
  const groups = [
    { label: 'What waits for you', none: 'Nothing waits.', rows: waits },
    { label: 'Earlier', none: 'Nothing was asked yet.', rows: ended },
  ]
  return (
    <>
      <SeatBar page={page} />
      {page.wanted.map((wanted, at) => (
        <Wanted key={`${wanted.id} ${at}`} page={page} wanted={wanted} isFirst={at === 0} />
      ))}
      <Lists page={page} groups={groups} />
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
        {isAlone && 'Nobody sits, so that all that needs a person is refused. '}
        {marked(said)}
      </output>
      <Acts of={[act]} />
    </aside>
  )
}

/** The keys answer the first of them. */
function Wanted({ page, wanted, isFirst }: ViewProps & { wanted: SeatWanted; isFirst: boolean }) {
  const [note = '', driven = ''] = editorNotes(wanted)
  const isStill = useStill(WANTED_MS)
  const answer = (admit: boolean) => {
    if (isStill) page.act(page.client.request('admit', { wanted: wanted.id, admit }), () => '')
  }
  const acts: readonly Act[] = [
    ['Let it sit', isFirst ? 'L' : '', () => answer(true)],
    ['Turn it away', isFirst ? 'T' : '', () => answer(false)],
  ]
  return (
    <section class="card" aria-label="Somebody wants a seat" aria-busy={!isStill}>
      <p>
        <b>{marked(wanted.who)}</b> wants a seat, too. {marked(note)} <b class="bad">{marked(driven)}</b>
      </p>
      <Acts of={acts} />
    </section>
  )
}

const wordOf = ({ outcome, ended }: Ended) =>
  `${outcome.replaceAll('_', ' ')}${ended?.taken_back ? ', taken back' : ''}`

function EndedPlan({ page, end }: ViewProps & { end: Ended }) {
  const { id, why, undoes, ended } = end
  const known = plans.get(id)
  const undo = ended?.undo ?? null
  const verb = undoes?.was_undo === false ? 'Redo what it took back' : `Undo ${undo}`
  useLayoutEffect(() => scrollTo(0, 0), [])
  const said = (
    <>
      {marked(page.news)} <b>{wordOf(end)}</b> {marked(why)}{' '}
      {ended && marked(`It ended: ${ended.outcome}. ${ended.notice ?? ''}`)}
    </>
  )
  return (
    <article aria-label="What came of it">
      {known !== undefined && <Proposed known={known} end={end} />}
      <Acts says={said} of={[undo !== null && [verb, 'u', () => page.undo(undo)]]} />
    </article>
  )
}

/** What was done of it and what was not, as far as this page knows. */
function Proposed({ known, end: { outcome, ended } }: { known: Known; end: Ended }) {
  const { plan, shown, decisions, sent } = known
  const isOwn = sent?.decision === 'choose'
  const isDone = outcome.startsWith('approved')
  const isBack = ended?.taken_back === true
  const { pieces } = isOwn ? decisions : new Decisions(shown.hunks)
  const isPart = outcome === 'approved_in_part'
  const part = isPart && !isOwn ? ' in part (the journal says which)' : ''
  const done = `${isPart && isOwn ? 'Of this' : 'This'} was ${ended?.outcome === 'ok' ? 'done' : 'approved'}${part}${isBack ? ', and taken back' : ''}`
  const texts = isOwn ? [] : textsOf(known)
  return (
    <>
      <p>{isDone ? done : 'Nothing of this was done'}:</p>
      {isUnsent(known) && <p class="warning">What you had decided and typed here was not sent.</p>}
      {texts.length > 0 && <Code text={texts.join('\n')} />}
      <ol class="hunks" aria-label="Hunks">
        {pieces.map(piece => {
          const look = isDone && !isBack && piece.decision?.type !== 'refuse' ? '' : 'not'
          const said = isOwn ? decisionText(piece) : ''
          return <Hunk key={pieceName(piece)} piece={piece} look={look} said={said} />
        })}
        {pieces.length === 0 && (
          <li class={isDone && !isBack ? '' : 'not'}>
            <Diff text={shown.body ?? ''} isDiff={plan.kernel === null} />
          </li>
        )}
      </ol>
    </>
  )
}

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
  const kept = plans.get(id)
  const known: Known = kept ?? { plan, shown, decisions: new Decisions(shown.hunks), typed: new Map() }
  plans.set(id, known)
  // And what comes before the difference, where hunks show that.
  const outside = shown.hunks.length === 0 ? [] : (shown.body ?? '').split(/^diff --git /m, 1)
  const evidence = [...notes, ...outside.flatMap(text => text.trim().split('\n'))]
  const script = `imago approve ${id} --code ${shown.code}`
  const called = kernel === null ? tool : `${tool} in ${kernel}`
  const facts = [called, `sha256 ${hash}`, script, ...evidence].join('\n')
  useLayoutEffect(() => scrollTo(0, 0), [])
  const send = (answer: Answer): undefined => {
    if (!isStill || known.sent !== undefined) return
    known.sent = answer
    const asked = page.client.request('answer', { plan: id, hash, ...answer })
    const forget = () => Object.assign(known, { sent: undefined })
    asked.then(({ type }) => type === 'taken' || forget(), forget)
    page.act(asked, outcome => (outcome.type === 'taken' ? 'Sent.' : `Not sent: ${whyNot(outcome)}`))
  }
  return (
    <article aria-label="Plan" aria-busy={!isStill}>
      {warnings.map(warning => (
        <p key={warning} class="warning" role="alert">
          LOOK: {marked(warning)}
        </p>
      ))}
      <details>
        <summary>
          <b>{inLine(who)}</b> asks{times > 1 && `, ${times} times by now`}. {inLine(evidence[0] ?? '')} More
        </summary>
        <Code text={facts} />
      </details>
      <Answering page={page} known={known} send={send} />
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

/** A plan is taken or left as a whole; or its hunks are decided one by one, as at a terminal, and sent together. */
function Answering({ page, known, send }: ViewProps & { known: Known; send(answer: Answer): undefined }) {
  const { plan, shown, decisions, typed, field } = known
  const { body, args, files } = shown
  const { pieces, piece, at, undecided } = decisions
  const isWhole = pieces.length === 0
  const isDecided = piece?.decision !== undefined
  const isAll = !isWhole && undecided === 0
  const hasRest = undecided > (isDecided ? 0 : 1)
  const list = useRef<HTMLOListElement>(null)
  const here = () => list.current?.children[at]
  useEffect(() => here()?.scrollIntoView({ block: 'nearest' }), [at, pieces.length, field])

  const open = (field?: Known['field'], said = '') => {
    known.field = field
    page.say(said)
  }
  const did = (act: () => void) => () => {
    act()
    open()
  }
  const take = (how: 'decide' | 'decideRest') => () =>
    isSeen(page, how === 'decide' ? here() : list.current) && did(() => decisions[how]({ type: 'accept' }))()
  const sendAll = () => send({ decision: 'choose', choices: decisions.choices() })
  const step = (by: 1 | -1, undecided: boolean) => did(() => decisions.go(by, { undecided }))
  useKeys(2, { j: step(1, true), k: step(-1, true), J: step(1, false), K: step(-1, false) })
  const acts: readonly (Act | false)[] = isWhole
    ? [
        ['Approve', 'y', () => isSeen(page, here()) && send({ decision: 'approve' }), true],
        ['Refuse', 'n', () => open('n')],
        args !== null && plan.undoes === undefined && ['Edit the arguments', 'e', () => open('e')],
      ]
    : piece === undefined
      ? [
          ['Send', 'y', sendAll, true],
          ['Go back', 'n', step(-1, false)],
        ]
      : [
          isDecided
            ? ['Keep it', 'y', did(() => decisions.goOn()), true]
            : ['Take', 'y', take('decide'), true],
          ['Refuse', 'n', () => open('n')],
          ['Edit', 'e', () => open('e')],
          piece.decision?.type === 'refuse' && ['Take it after all', '', take('decide')],
          !isDecided && SEVERAL.test(piece.hunk.diff) && ['Split', 's', did(() => decisions.split())],
          hasRest && ['Take the rest', 'a', take('decideRest')],
          hasRest && ['Refuse the rest', 'd', () => open('d')],
          isAll && ['Send', '', sendAll],
        ]

  const refuse = (reason: string): undefined => {
    const how = field === 'd' ? 'decideRest' : 'decide'
    if (isWhole) send({ decision: 'deny', ...(reason !== '' && { reason }) })
    else decisions[how]({ type: 'refuse', reason: reason === '' ? null : reason })
  }
  const edit = (text: string) => {
    if (!isWhole) return decisions.rewritten(at, text)
    try {
      return send({ decision: 'edit', args: JSON.parse(text) })
    } catch {
      return 'That is no JSON.'
    }
  }
  const use = (text: string) => {
    const why = field === 'e' ? edit(text) : refuse(text)
    if (why === undefined) open()
    return why
  }
  const close = (said: string) => open(undefined, said)
  const isLine = field !== 'e'
  const [label, given] = isLine
    ? ['Why not? The model is told your reason. You may leave it empty.', '']
    : isWhole
      ? ['The arguments, as JSON. They become a plan of their own', JSON.stringify(args, undefined, 2)]
      : [`What is to be there from line ${piece?.hunk.line} on`, piece?.hunk.after ?? '']
  const verb = { n: 'Refuse', d: 'Refuse the rest', e: 'Take this text' }
  const name = `${field} ${piece && pieceName(piece)}`
  const typing = field && (
    <Field key={name} {...{ name, label, given, isLine, typed, use, close }} verb={verb[field]} />
  )
  return (
    <>
      <ol class="hunks" ref={list} aria-label="Hunks">
        {isWhole && (
          <li>
            <Diff text={body ?? ''} isDiff={plan.kernel === null} />
            {typing}
          </li>
        )}
        {pieces.map((one, index) => {
          const isNew = files.some(({ kind, shown }) => kind === 'create' && shown === one.hunk.shown)
          const said = `${isNew ? 'makes the new file ' : ''}${decisionText(one)}`
          const come = field === undefined ? did(() => decisions.to(index)) : undefined
          return (
            <Hunk key={pieceName(one)} {...{ piece: one, look: index === at ? 'here' : '', said, come }}>
              {index === at && typing}
            </Hunk>
          )
        })}
      </ol>
      <Acts says={marked(page.news) || (field ? FIELD : isAll && ALL)} of={field || known.sent ? [] : acts} />
    </>
  )
}

const FIELD = 'A field is open: use its text or cancel it first.'
/** Changes with a line between them that stays. */
const SEVERAL = /^[-+].*\n(?: .*\n)+[-+]/m

const ALL = 'All is decided. Nothing is done before you send it.'

interface HunkProps {
  readonly piece: Piece
  /** It is looked at, or was not done. */
  readonly look: 'here' | 'not' | ''
  /** What it is, and what was decided of it. */
  readonly said: string
  /** What is asked of it, below. */
  readonly children?: ComponentChildren
  readonly come?: (() => void) | undefined
}

function Hunk({ piece, look, said, children, come }: HunkProps) {
  const { hunk } = piece
  const diff = useMemo(() => <Diff text={hunk.diff} isDiff />, [hunk])
  const Head = come === undefined ? 'div' : 'button'
  return (
    <li class={`hunk ${look}`} aria-current={look === 'here'}>
      <Head class="head" onClick={come}>
        <b>{inLine(pieceName(piece))}</b> {inLine(said)}
        {hunk.why !== null && <div>{marked(hunk.why)}</div>}
      </Head>
      {diff}
      {children}
    </li>
  )
}

interface FieldProps {
  readonly label: string
  /** On the button that uses the text. */
  readonly verb: string
  /** What is there before anything is typed. */
  readonly given: string
  /** Enter ends it; otherwise Ctrl-Enter does. */
  readonly isLine: boolean
  /** Keeps what is typed, by the names of fields. */
  readonly typed: Map<string, string>
  readonly name: string
  /** Says why the text cannot be used. */
  use(text: string): string | undefined
  close(said: string): void
}

/** Where a person types a text for a plan. The keys that decide lead to it meanwhile. */
function Field({ label, verb, given, isLine, typed, name, use, close }: FieldProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [why, tell] = useState('')
  const [text, set] = useState(typed.get(name) ?? given)
  const hidden = [...escapePlan(text).hidden.keys()]
  const focus = () => field.current?.focus()
  useLayoutEffect(focus, [])
  useLayoutEffect(() => hush, [])
  useKeys(3, Object.fromEntries([...'ynesadjkJK'].map(key => [key, focus])))
  const write = (now: string) => {
    typed.set(name, now)
    set(now)
  }
  const take = () => tell(use(isLine ? text.replaceAll('\n', ' ').trim() : text) ?? '')
  const cancel = () => close(text === given ? '' : 'Your text is not used. The same key brings it back.')
  return (
    <section class="card">
      <label>
        {label}
        <textarea
          ref={field}
          maxLength={isLine ? 2_000 : undefined}
          rows={isLine ? 2 : Math.min(30, given.split('\n').length + 2)}
          spellcheck={isLine}
          value={text}
          onInput={({ currentTarget }) => write(currentTarget.value)}
          onKeyDown={event => {
            if (event.key === 'Escape') cancel()
            if (event.key !== 'Enter' || event.isComposing || !(isLine ? !event.shiftKey : event.ctrlKey))
              return
            event.preventDefault()
            take()
          }}
        />
      </label>
      {hidden.length > 0 && <p class="warning">Characters that are not seen are in it: {hidden.join(' ')}</p>}
      <output class="bad">{why}</output>
      <Acts
        of={[
          [`${verb} (${isLine ? 'Enter' : 'Ctrl-Enter'})`, '', take, true],
          ['Cancel (Escape)', '', cancel],
          given !== '' && text !== given && ['As it was', '', () => write(given)],
        ]}
      />
    </section>
  )
}
