import { type Look, looking, plain, type Span } from '../console/style.ts'
import { widthOf } from '../console/width.ts'
import type { Painting } from './desk-rows.ts'
import type { Items, PlanItem } from './items.ts'
import type { Shown, View } from './view.ts'

/** What is done, and what is not. */
const LOOKS: Readonly<Record<string, Look>> = { y: 'good', n: 'failure' }

/** A key, and what it does now. */
type Offer = readonly [key: string, does: string]

/** The keys that work now, the most important first; those for which there is no room are left out. */
export function footerSpans({ items, view, counts, size: { columns }, signs }: Painting): Span[] {
  const { shown } = view
  const answers = view.asks && !counts ? [] : answersTo(view, { items, wide: columns >= 60 })
  const moves = movesIn(shown, items.all.length)
  const spans: Span[] = [plain(' ')]
  let taken = 1
  if (view.asks && !counts) {
    spans.push(looking('hint', signs.dot === '-' ? '...  ' : '…  '))
    taken += 5
  }
  for (const [key, does] of [...answers, ...moves]) {
    const width = widthOf(key) + 1 + widthOf(does) + 2
    if (taken + width - 2 > columns) continue
    spans.push(looking(LOOKS[key] ?? 'title', key), plain(` ${does}  `))
    taken += width
  }
  return spans
}

function answersTo(view: View, { items, wide }: { items: Items; wide: boolean }): Offer[] {
  const unseen: Offer = ['G', wide ? 'shows the end; y after that' : 'end, then y']
  const { shown } = view
  switch (shown.type) {
    case 'plan':
      return planOffers(shown.item, { unseen, ofTurn: items.turn(shown.item.plan.turn).length })
    case 'hunk':
      return hunkOffers(shown.item, unseen)
    case 'hunks':
      return [view.sheet().seen ? ['y', 'sends this'] : unseen, ['n', 'decide anew']]
    case 'turn':
      return [
        view.sheet().seen ? ['y', `approve all ${shown.items.length}`] : unseen,
        ['d', 'deny all'],
        ['n', 'back'],
      ]
    case 'grant':
      return [
        ...shown.item.plan.grants.map((pattern, index): Offer => [`${index + 1}`, pattern]),
        ['Esc', 'back'],
      ]
    case 'seat':
      return [
        ['y', 'let it'],
        ['n', 'turn it away'],
      ]
    case 'trouble':
      return [
        ['y', 'take note'],
        ['n', 'not now'],
      ]
    case 'withdrawn':
      return [['Enter', 'goes on']]
    case 'help':
    case 'history':
      return [['q', 'back']]
    case 'sent':
    case 'idle':
      return []
    default:
      return shown satisfies never
  }
}

function planOffers(
  { plan, seen }: PlanItem,
  { unseen, ofTurn }: { unseen: Offer; ofTurn: number },
): Offer[] {
  return [
    seen ? ['y', 'approve'] : unseen,
    ['n', 'deny'],
    ['e', 'edit'],
    ...(plan.grants.length > 0 && seen ? [['g', 'grant'] as const] : []),
    ...(ofTurn > 1 ? TURN : []),
  ]
}

const TURN: readonly Offer[] = [
  ['a', 'approve turn'],
  ['d', 'deny turn'],
]

function hunkOffers({ deciding }: PlanItem, unseen: Offer): Offer[] {
  return [
    deciding?.piece?.seen === true ? ['y', 'this hunk'] : unseen,
    ['n', 'not this'],
    ['e', 'edit'],
    ['s', 'split'],
    ['a', 'rest of file'],
    ['d', 'none of file'],
  ]
}

function movesIn({ type }: Shown, count: number): Offer[] {
  if (type === 'help' || type === 'history') return [['space', 'on']]
  const about: Offer[] = [
    ['?', 'help'],
    ['q', 'leave'],
  ]
  if (type === 'idle') return [...about, ['h', 'history']]
  const others: Offer[] = count > 1 ? [['Tab', 'next plan']] : []
  if (type === 'hunk' || type === 'hunks') return [['j k', 'hunks'], ...about, ...others]
  return [...others, ...about, ['space', 'on'], ['h', 'history']]
}
