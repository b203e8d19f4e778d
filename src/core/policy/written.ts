import { join, resolve } from 'node:path'
import { z } from 'zod'
import { LEVELS } from '../../../tools/define.ts'
import { DECISIONS, EFFECTS, type Effect } from '../gate.ts'

/** The words with which a rule says what it is about, in the order in which they are shown. */
export const MATCHERS = ['tool', 'level', 'kernel', 'path', 'file', 'effect'] as const

/** Text that can hide nothing in a file or in a preview: no control characters. */
const plainText = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine(text => ![...text].some(isControl), 'may hold no control characters')

const isControl = (unit: string) => unit < ' ' || (unit >= '\u007f' && unit <= '\u009f')

/** A name, or the beginning of one and a last `*`. */
const pattern = plainText(128).regex(/^[^*]*\*?$/, 'may hold one *, at its end')

/** A star would be a pattern elsewhere, and be silently without effect here. */
const path = plainText(4_096).regex(
  /^[^*]*$/,
  'is a file or a folder and all in it, and no pattern: leave out *',
)

/** One file by its name: with a `/` at its end it would look as if it were about a folder. */
const file = plainText(4_096).regex(
  /^(?!.*(?:^|\/)(?:\.{1,2}|~)$)[^*]*[^*/]$/,
  'is exactly one file, and neither a pattern nor a folder: leave out * and a / at the end',
)

/** The effects that some tool tells of. A rule about another one would be silently without effect, so it is refused. */
const TOLD = ['write_file'] as const satisfies readonly Effect[]

const effect = z.enum(TOLD, {
  error: ({ input }) =>
    EFFECTS.some(known => known === input)
      ? `no tool of this version tells of ${JSON.stringify(input)}, so that it would have no effect: name the tool instead, or leave it out`
      : undefined,
})

const RULE = z.strictObject({
  decision: z.enum(DECISIONS),
  tool: pattern.optional(),
  level: z.enum(LEVELS).optional(),
  kernel: pattern.optional(),
  path: path.optional(),
  file: file.optional(),
  effect: effect.optional(),
})

/** What a client's yes to a question comes to: it approves, or a seat is asked all the same. */
const YESES = ['counts', 'asks_a_seat'] as const
export type Yes = (typeof YESES)[number]

const CLIENT = z.strictObject({
  /** What it calls itself. */
  name: pattern,
  yes: z.enum(YESES),
})

export type WrittenClient = z.output<typeof CLIENT>

/** No file can write `client` into a `[[rule]]`. */
const KEPT_RULE = RULE.extend({ client: pattern.optional() })

/**
 * A rule as it stands in a file. With `client` it is what a `[[client]]` says, which is accepted and kept like a rule:
 * `allow` where its yes counts, `ask` where a seat is asked. The gate never sees such a one.
 */
export type WrittenRule = z.output<typeof KEPT_RULE>

export const ruleOfClient = ({ name, yes }: WrittenClient): WrittenRule => ({
  decision: yes === 'counts' ? 'allow' : 'ask',
  client: name,
})

export const yesOfRule = ({ decision }: WrittenRule): Yes => (decision === 'allow' ? 'counts' : 'asks_a_seat')

const TEST = z.strictObject({
  tool: plainText(128),
  level: z.enum(LEVELS).optional(),
  kernel: plainText(128).optional(),
  path: path.optional(),
  effect: effect.optional(),
  expect: z.enum(DECISIONS),
  /** The number of the rule that is to decide. */
  rule: z.number().int().min(1).max(1_000).optional(),
})

/** A call that somebody thought of, and what is to come of it. */
export type WrittenTest = z.output<typeof TEST>

/** All that a file of rules can hold. An unknown word is refused, so that no slip is silently without effect. */
export const POLICY_FILE = z.strictObject({
  rule: z.array(RULE).max(1_000).default([]),
  client: z.array(CLIENT).max(1_000).default([]),
  test: z.array(TEST).max(1_000).default([]),
})

/** The rules that a person accepted, as the state directory keeps them. */
export const NUMBERED_RULE = z.strictObject({ number: z.number().int().min(1), rule: KEPT_RULE })

/** A rule and its number in its file, counted from 1; each `[[client]]` is counted with those alone. */
export type NumberedRule = z.output<typeof NUMBERED_RULE>

/** Where a file of rules stands, and for whom it speaks. */
export type PolicyPlace =
  | { readonly type: 'user'; readonly file: string; readonly home: string }
  /** `root` has its links resolved. */
  | { readonly type: 'project'; readonly file: string; readonly root: string }

/** Two rules with the same key are the same rule, wherever they stand. */
export function keyOf(rule: WrittenRule): string {
  return JSON.stringify([rule.decision, ...aboutOf(rule)])
}

/** What a rule is about, whatever it decides. */
export function subjectOf(rule: WrittenRule): string {
  return JSON.stringify(aboutOf(rule))
}

const aboutOf = (rule: WrittenRule) => [
  ...MATCHERS.map(matcher => rule[matcher] ?? null),
  rule.client ?? null,
]

/**
 * The absolute path that is written in a file: `~` is the user's home, and what is relative counts from the root of
 * the project, in the user's file from that of each.
 */
export function pathOf(written: string, { place, root }: { place: PolicyPlace; root: string }): string {
  if (place.type === 'user' && written === '~') return place.home
  if (place.type === 'user' && written.startsWith('~/')) return join(place.home, written.slice(2))
  return resolve(root, written)
}

/** The rule as its file says it, with its heading. */
export function tomlOf(rule: WrittenRule): readonly string[] {
  if (rule.client !== undefined)
    return ['[[client]]', `name = ${JSON.stringify(rule.client)}`, `yes = ${JSON.stringify(yesOfRule(rule))}`]
  const about = MATCHERS.flatMap(matcher => (rule[matcher] === undefined ? [] : [[matcher, rule[matcher]]]))
  const words = [['decision', rule.decision], ...about]
  return ['[[rule]]', ...words.map(([word, value]) => `${word} = ${JSON.stringify(value)}`)]
}

/** What a rule is about, for a person: `write_file (dangerous) in /home/u/p`. */
export function aboutInWords({
  tool,
  level,
  kernel,
  path: at,
  file: only,
  effect,
}: Omit<WrittenRule, 'effect'> & { readonly effect?: Effect | undefined }): string {
  const whose =
    tool === undefined || tool === '*' ? 'every tool' : tool.endsWith('*') ? `every tool ${tool}` : tool
  const on = effect === undefined ? 'on' : 'at'
  const parts = [
    whose,
    level && `that is ${level}`,
    kernel && `in the kernel ${kernel}`,
    effect && `that would ${EFFECT_WORDS[effect]}`,
    at && `${on} ${inProject(at)}`,
    only && `${on} exactly ${inProject(only)}`,
  ]
  return parts.filter(Boolean).join(' ')
}

const inProject = (written: string) => `${written}${/^[~/]/.test(written) ? '' : ' of the project'}`

const EFFECT_WORDS = {
  write_file: 'write a file',
  start_process: 'start a process',
  open_connection: 'open a connection',
} as const satisfies Record<Effect, string>
