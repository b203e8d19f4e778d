import type { SeatAnswer } from '../../core/approvals.ts'

/** What a person at a desk wants done that the desk cannot do by itself. */
export type Wish =
  /** Each is given as it is, and `Desk.answered` is told what became of it. */
  | { readonly type: 'answer'; readonly answers: readonly SeatAnswer[] }
  | { readonly type: 'admit'; readonly wanted: string; readonly admit: boolean }
  | { readonly type: 'acknowledge' }
  /** The text goes through the person's own editor, and `Desk.edited` is given what came of it. */
  | { readonly type: 'edit'; readonly text: string; readonly about: Edited }
  /** `Desk.stands` is told what is let through, and who is not asked about. */
  | { readonly type: 'look' }
  | { readonly type: 'revoke'; readonly grant: string }
  /** All pauses end. */
  | { readonly type: 'lift' }
  | { readonly type: 'leave' }
  | { readonly type: 'suspend' }

/** What a text is that a person edits. `suffix` is for the name of its file. */
export type Edited =
  | { readonly type: 'hunk'; readonly plan: string; readonly piece: number; readonly suffix: '.diff' }
  | { readonly type: 'arguments'; readonly plan: string; readonly suffix: '.json' }
