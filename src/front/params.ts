import { z } from 'zod'
import { LEVELS, PROFILES } from '../../tools/contract.ts'
import type { Envelope } from '../../tools/outcome.ts'

const key = z.string().min(1).max(128)

/** Which names a kernel can have is for the kernels to say. */
const name = z.string().max(1_024)

const reason = z.string().max(10_000)

const nothing = z.strictObject({})

const whyChosen = reason.nullable()

/** A person may keep a stack for an hour without looking at it, and no longer. */
const leaseMs = z.int().min(1_000).max(3_600_000)

const choice = z.discriminatedUnion('decision', [
  z.strictObject({ hunk: z.int().min(1), decision: z.literal('accept') }),
  z.strictObject({ hunk: z.int().min(1), decision: z.literal('refuse'), reason: whyChosen }),
  z.strictObject({
    hunk: z.int().min(1),
    decision: z.literal('edit'),
    text: z.string(),
    reason: whyChosen,
    inPart: z.literal(true).exactOptional(),
  }),
])

/** The parameters of each method, as they are checked. */
export const PARAMS = {
  call: z.strictObject({
    tool: z.string().max(256),
    args: z.unknown(),
    call: key.exactOptional(),
    follow: z.boolean().exactOptional(),
  }),
  show: z.strictObject({
    tool: z.string().max(256),
    envelope: z.custom<Envelope>(isEnvelope, 'not an envelope'),
  }),
  tools: z.strictObject({
    profile: z.enum(PROFILES).exactOptional(),
    format: z.string().max(64).exactOptional(),
    name: z.string().max(256).exactOptional(),
  }),
  kernels: nothing,
  start: z.strictObject({
    language: z.string().max(64),
    name: name.exactOptional(),
    script: z.string().min(1).exactOptional(),
    args: z.array(z.string()).readonly().exactOptional(),
  }),
  trial: z.strictObject({ language: z.string().max(64) }),
  stop: z.strictObject({ name }),
  restart: z.strictObject({ name }),
  interrupt: z.strictObject({ name }),
  attach: z.strictObject({
    target: z.string().min(1).max(1_024),
    name: name.exactOptional(),
    /** The program's secret, where it has not announced one. */
    key: z.string().min(1).max(1_024).exactOptional(),
    /** The absolute path of the file that holds it, which is read again by the next daemon. */
    key_file: z.string().startsWith('/').max(4_096).exactOptional(),
    /** A Swank server of another machine is meant. */
    anywhere: z.boolean().exactOptional(),
    /** A Swank server that asks for no secret is meant. */
    no_secret: z.boolean().exactOptional(),
    /** The errors that servers of a Lisp program catch are to be noted. */
    errors: z.boolean().exactOptional(),
  }),
  detach: z.strictObject({ name }),
  sit: z.strictObject({ alone: z.boolean().exactOptional() }),
  admit: z.strictObject({ wanted: key, admit: z.boolean() }),
  answer: z.strictObject({
    plan: key,
    hash: key,
    decision: z.enum(['approve', 'deny', 'edit', 'choose']),
    reason: reason.optional(),
    args: z.record(z.string(), z.unknown()).optional(),
    choices: z.array(choice).max(10_000).readonly().optional(),
    grant: z.string().max(4_096).optional(),
  }),
  plan: z.strictObject({ plan: key }),
  approvals: nothing,
  approve: z.strictObject({ plan: key, code: key }),
  deny: z.strictObject({ plan: key, code: key, reason: reason.exactOptional() }),
  acknowledge: nothing,
  lift: nothing,
  revoke: z.strictObject({ grant: z.string() }),
  policy: nothing,
  check_policy: z.strictObject({
    tool: z.string().max(256),
    args: z.unknown().optional(),
    kernel: name.exactOptional(),
    path: z.string().min(1).max(4_096).exactOptional(),
    level: z.enum(LEVELS).exactOptional(),
  }),
  accept_policy: nothing,
  suspensions: nothing,
  watch_suspensions: z.strictObject({ everywhere: z.boolean().exactOptional() }),
  take: z.strictObject({ kernel: name, suspension: key, lease_ms: leaseMs.exactOptional() }),
  hand: z.strictObject({ kernel: name, suspension: key, lease_ms: leaseMs.exactOptional() }),
  theirs: z.strictObject({ kernel: name }),
  adopt: z.strictObject({ kernel: name, id: key, lease_ms: leaseMs.exactOptional() }),
  status: nothing,
  watch: z.strictObject({ name }),
  /**
   * `unused`: no running call, no suspended evaluation, no kernel, no other client. `nothing_runs`: no running call, and
   * no script that has not returned; kernels that wait are ended. `always`: what runs is ended too. Where the condition
   * does not hold, the daemon fails with `in_use`.
   */
  shutdown: z.strictObject({ when: z.enum(['unused', 'nothing_runs', 'always']) }),
} as const

function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null || !('ok' in value)) return false
  return value.ok === true ? 'result' in value : 'error' in value && typeof value.error === 'object'
}
