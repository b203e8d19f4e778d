import type { Decisions } from '../front/hunks/decisions.ts'
import type { InForce, Items, Notes, Past, PlanItem, SeatItem, Signs, TroubleItem } from './desk-items.ts'
import {
  goneSheet,
  grantSheet,
  helpSheet,
  historySheet,
  hunkSheet,
  idleSheet,
  leavingSheet,
  planSheet,
  seatSheet,
  standingSheet,
  troubleSheet,
  turnSheet,
} from './desk-sheets.ts'
import type { Palette, Size } from './layout.ts'
import type { Sheet } from './sheet.ts'

/** What the person is asked, or only shown. */
export type Scene =
  | { readonly type: 'plan'; readonly item: PlanItem }
  | { readonly type: 'hunk'; readonly item: PlanItem; readonly deciding: Decisions }
  /** All hunks are decided. */
  | { readonly type: 'hunks'; readonly item: PlanItem; readonly deciding: Decisions }
  | { readonly type: 'turn'; readonly items: readonly PlanItem[] }
  | { readonly type: 'grant'; readonly item: PlanItem }
  | { readonly type: 'seat'; readonly seat: SeatItem }
  | { readonly type: 'trouble'; readonly trouble: TroubleItem }
  /** It was answered, and is not settled yet. */
  | { readonly type: 'sent'; readonly item: PlanItem }
  | { readonly type: 'withdrawn'; readonly withdrawn: WithdrawnPlan }
  | { readonly type: 'help' }
  | { readonly type: 'history' }
  | { readonly type: 'standing' }
  /** Something was decided and not sent: whether to leave all the same. */
  | { readonly type: 'leaving' }
  | { readonly type: 'idle' }

interface WithdrawnPlan {
  readonly id: string
  readonly title: string
  readonly why: string
  readonly at: number
}

interface ViewOptions {
  readonly items: Items
  readonly palette: Palette
  readonly signs: Signs
  readonly past: readonly Past[]
  readonly notes: Notes
  readonly isPage: boolean
}

/** What stands below the list, and how far it was read. */
export class View {
  /** Who is to let this seat in, while it has to be. */
  waitingFor: readonly string[] | undefined
  who = ''
  /** What was looked at until it needed no answer any more. */
  withdrawn: WithdrawnPlan | undefined
  /** The plans of a turn that are to be approved together, while that is asked. */
  turn: readonly PlanItem[] | undefined
  /** The plan for which a grant is chosen. */
  grantFor: PlanItem | undefined
  over: 'help' | 'history' | 'standing' | 'leaving' | undefined
  /** Undefined until it is known. */
  standing: InForce | undefined
  /** The time of the desk. */
  now = 0
  readonly #o: ViewOptions
  #sheet: { readonly name: string; readonly sheet: Sheet } | undefined
  #rested: string | undefined
  #size: Size = { columns: 80, rows: 10 }

  constructor(options: ViewOptions) {
    this.#o = options
  }

  /** See `DeskOptions.page`. */
  get isPage(): boolean {
    return this.#o.isPage
  }

  get shown(): Scene {
    if (this.over !== undefined) return { type: this.over }
    if (this.withdrawn !== undefined) return { type: 'withdrawn', withdrawn: this.withdrawn }
    const { here } = this.#o.items
    if (here === undefined) return { type: 'idle' }
    if (here.type === 'seat') return { type: 'seat', seat: here }
    if (here.type === 'trouble') return { type: 'trouble', trouble: here }
    if (here.sent !== undefined) return { type: 'sent', item: here }
    if (this.turn !== undefined) return { type: 'turn', items: this.turn }
    if (this.grantFor === here) return { type: 'grant', item: here }
    const { deciding } = here
    if (deciding === undefined) return { type: 'plan', item: here }
    return { type: deciding.piece === undefined ? 'hunks' : 'hunk', item: here, deciding }
  }

  /** Names what stands there: something else, or the same otherwise than before, has another name. */
  get name(): string {
    const { shown } = this
    switch (shown.type) {
      case 'plan':
      case 'grant':
      case 'sent':
        return `${shown.type} ${shown.item.id} ${shown.item.plan.warnings.length} ${shown.item.plan.code}`
      case 'hunk':
      case 'hunks': {
        const { at, version } = shown.deciding
        return `${shown.type} ${shown.item.id} ${shown.item.plan.warnings.length} ${at} ${version}`
      }
      case 'turn':
        return `turn ${shown.items.map(({ id }) => id).join(' ')}`
      case 'seat':
        return `seat ${shown.seat.id}`
      case 'withdrawn':
        return `withdrawn ${shown.withdrawn.id}`
      case 'history':
        return `history ${this.#o.past.length} ${this.#o.notes.count}`
      case 'idle':
        return `idle ${this.#o.past.length} ${this.waitingFor?.join()} ${this.who} ${this.#standingName}`
      case 'standing':
        return `standing ${this.#standingName}`
      case 'leaving':
        return `leaving ${this.#o.items.unsent}`
      case 'trouble':
      case 'help':
        return shown.type
      default:
        return shown satisfies never
    }
  }

  /** Whether anything is let through, or anybody is not asked about. */
  get hasStanding(): boolean {
    return this.standing !== undefined && this.standing.grants.length + this.standing.pauses.length > 0
  }

  /** It ends by and by, in minutes. */
  get #standingName(): string {
    const minutes = this.hasStanding ? Math.floor((this.now - (this.standing?.at ?? 0)) / 60_000) : 0
    return `${this.standing?.version} ${minutes}`
  }

  /** Whether a key may answer what stands there. */
  get asks(): boolean {
    return ['plan', 'hunk', 'hunks', 'turn', 'grant', 'seat', 'trouble', 'leaving'].includes(this.shown.type)
  }

  /** Whether keys answer what was painted under that name, and whether that is what stands there still. */
  counts(painted: string): boolean {
    return painted === this.#rested && painted === this.name
  }

  rested(painted: string | undefined): void {
    this.#rested = painted
  }

  /** Whether what is being asked is about that one, alone or with others. */
  concerns(id: string): boolean {
    const { shown } = this
    if (shown.type === 'turn') return shown.items.some(item => item.id === id)
    return this.withdrawn === undefined && this.#o.items.here?.id === id
  }

  /** The sheet that stands there; `size` of the room that it has. */
  sheet(size: Size = this.#size): Sheet {
    this.#size = size
    const { name } = this
    if (this.#sheet?.name !== name) this.#sheet = { name, sheet: this.#made(size) }
    const { sheet } = this.#sheet
    sheet.resize(size)
    return sheet
  }

  /** The end of what stands there was painted. */
  see(): void {
    const { shown } = this
    if (shown.type === 'plan') shown.item.seen = true
    else if (shown.type === 'hunk') shown.deciding.see()
  }

  /** The person looks at something else, or at the same from its beginning. */
  leave(): void {
    this.turn = undefined
    this.grantFor = undefined
  }

  #made(size: Size): Sheet {
    const { palette, signs } = this.#o
    const o = { palette, signs, size }
    const { shown } = this
    switch (shown.type) {
      case 'plan':
      case 'sent':
        return planSheet(shown.item, o)
      case 'hunk':
      case 'hunks':
        return hunkSheet(shown.item, shown.deciding, o)
      case 'turn':
        return turnSheet(shown.items, o)
      case 'grant':
        return grantSheet(shown.item, o)
      case 'seat':
        return seatSheet(shown.seat, o)
      case 'trouble':
        return troubleSheet(shown.trouble, o)
      case 'withdrawn':
        return goneSheet(shown.withdrawn, o)
      case 'help':
        return helpSheet({ isPage: this.isPage }, o)
      case 'history':
        return historySheet({ past: this.#o.past, said: this.#o.notes.said }, o)
      case 'standing':
        return standingSheet({ standing: this.standing, now: this.now }, o)
      case 'leaving':
        return leavingSheet(this.#o.items.unsent, o)
      case 'idle':
        return idleSheet(
          {
            waitingFor: this.waitingFor,
            who: this.who,
            past: this.#o.past,
            standing: this.standing,
            now: this.now,
          },
          o,
        )
      default:
        return shown satisfies never
    }
  }
}
