/** What the keys do with which a person answers, in the words in which they are explained wherever one is asked. */
export const KEY_WORDS = {
  /** Of a plan that is taken or left as a whole. */
  plan: {
    y: 'it is done exactly as shown, once',
    n: 'it is not done; then a reason, which the model is told',
    e: 'what is called is changed in your editor ($VISUAL, $EDITOR); you are asked about that anew',
    g: 'it is done, and its like is let through without asking until you leave',
    a: 'all of its turn is done; what was not seen yet is shown first',
    d: 'none of its turn is done; then a reason',
    j: 'looks at the next plan first',
    k: 'looks at the plan before first',
    q: 'leaves the seat; what waits goes on waiting',
  },
  /** Of one of the hunks of a plan. */
  hunk: {
    y: 'this hunk is done',
    n: 'it is not done; then a reason, which the model is told',
    q: 'leaves the seat; the plan goes on waiting, and nothing of it is decided',
    a: 'this hunk and all later ones of its file are done; what was not seen yet is shown first',
    d: 'neither this hunk nor the later ones of its file are done; then a reason',
    A: 'this hunk and all undecided ones of the plan are done; what was not seen yet is shown first',
    D: 'neither this hunk nor any undecided one of the plan is done; then a reason',
    e: 'it is changed in your editor ($VISUAL, $EDITOR)',
    s: 'it is split into its separate changes',
    j: 'leaves it, and goes to the next undecided one',
    k: 'leaves it, and goes to the undecided one before',
    J: 'goes to the next one, decided or not',
    K: 'goes to the one before, decided or not',
    p: 'prints it again',
  },
  /** Of all hunks of a plan, once each is decided. */
  hunks: {
    y: 'what was decided is done, once',
    n: 'nothing is sent, and you decide anew what you like',
    D: 'nothing of the plan is done; then a reason, which the model is told',
    q: 'leaves the seat; the plan goes on waiting, and nothing of it is decided',
  },
} as const

/** A row for each of these keys. */
export const explained = (keys: readonly (readonly [key: string, words: string])[]): string =>
  keys.map(([key, words]) => `${key}  ${words}\n`).join('')
