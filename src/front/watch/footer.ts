import { type Look, looking, plain, type Span } from '../console/style.ts'
import { widthOf } from '../console/width.ts'
import type { Piece } from '../hunks/decisions.ts'
import { split } from '../hunks/patch.ts'
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
  const moves = movesIn(shown, { count: items.all.length, page: view.isPage, standing: view.hasStanding })
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
    case 'leaving':
      return [
        ['y', 'leave'],
        ['n', 'stay'],
      ]
    case 'standing':
      return standingOffers(view)
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

function standingOffers({ standing }: View): Offer[] {
  const { grants = [], pauses = [] } = standing ?? {}
  const numbers = grants.length > 1 ? `1-${Math.min(9, grants.length)}` : '1'
  return [
    ...(grants.length > 0 ? [[numbers, 'revoke'] as const] : []),
    ...(pauses.length > 0 ? [['l', 'lift the pause'] as const] : []),
    ['q', 'back'],
  ]
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
  const files = new Set(deciding?.pieces.map(({ hunk }) => hunk.shown)).size
  return [
    deciding?.piece?.seen === true ? ['y', 'this hunk'] : unseen,
    ['n', 'not this'],
    ['A', 'all'],
    ['D', 'none'],
    ['e', 'edit'],
    ...(canBeSplit(deciding?.piece) ? [['s', 'split'] as const] : []),
    ...(files > 1 ? FILE : []),
  ]
}

const FILE: readonly Offer[] = [
  ['a', 'rest of file'],
  ['d', 'none of file'],
]

const splits = new WeakMap<Piece['hunk'], boolean>()

/** Looked for once for each: it compares all its lines. */
function canBeSplit(piece: Piece | undefined): boolean {
  if (piece === undefined || piece.part !== undefined || piece.decision?.type === 'edit') return false
  const known = splits.get(piece.hunk) ?? split(piece.hunk).length > 1
  splits.set(piece.hunk, known)
  return known
}

function movesIn({ type }: Shown, o: { count: number; page: boolean; standing: boolean }): Offer[] {
  const { count, page, standing } = o
  if (type === 'leaving') return []
  if (type === 'help' || type === 'history' || type === 'standing') return [['space', 'on']]
  const about: Offer[] = [
    ['?', 'help'],
    ['q', page ? 'back' : 'leave'],
  ]
  if (type === 'idle')
    return [...about, ...(standing ? [['r', 'revoke or lift'] as const] : []), ['h', 'history']]
  const others: Offer[] = count > 1 ? [['Tab', 'next plan']] : []
  if (type === 'hunk' || type === 'hunks') return [['j k', 'hunks'], ...about, ...others]
  return [...others, ...about, ['space', 'on'], ['h', 'history']]
}
