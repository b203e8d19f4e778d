import type { SharedV3ProviderOptions } from '@ai-sdk/provider'
import { z } from 'zod'
import { PROFILES } from '../../tools/contract.ts'
import { isRecord } from '../../tools/record.ts'
import { SYNTAX_NAMES } from '../syntax/syntax.ts'
import { KEY_VARIABLES } from './keys.ts'

/** Of the provider, to be sent back as it came. */
const providerOptions = z.custom<SharedV3ProviderOptions>(isRecord).exactOptional()

const CALL_PART = z.strictObject({
  type: z.literal('call'),
  /** The provider's name for it. */
  id: z.string(),
  /** Its name at the daemon: a call of one name runs once. */
  call: z.string(),
  tool: z.string(),
  /** A text where the model wrote no JSON. */
  args: z.unknown(),
  providerOptions,
})

/** One part of what a model answered, in its order. */
const PART = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string(), providerOptions }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string(), providerOptions }),
  CALL_PART,
  /** Of a text syntax: it was meant as a call, and is none. */
  z.strictObject({ type: z.literal('bad'), why: z.string() }),
])

export type Part = z.output<typeof PART>

/** A call that a model asks for. */
export type AskedCall = z.output<typeof CALL_PART>

/** Why a run is over. `failed`: it can go on where it is resumed. */
const ENDINGS = ['done', 'partial', 'cancelled', 'failed'] as const

/** Milliseconds since 1970. */
const at = z.number()

/**
 * What is written of a run, in order; its file has one in each line, and nothing else is needed to go on with it.
 * `answered` is written before any of its calls begins, and each `ended` before the model reads it.
 */
export const ENTRY = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('begun'),
    at,
    run: z.string(),
    /** Names of calls begin with it: no other run has it. */
    id: z.string(),
    root: z.string(),
    text: z.string(),
    /** What the model is told before all else. */
    guidance: z.string(),
    model: z.string(),
    profile: z.enum(PROFILES),
    /** The variable that had the key of the model. */
    key: z.enum(KEY_VARIABLES).exactOptional(),
    /** What has woken it: then a person is asked about all but looks, unless a rule allows them. */
    woken: z.string().exactOptional(),
    /** By which an error is the same for an hour. */
    kind: z.string().exactOptional(),
    syntax: z.enum(SYNTAX_NAMES).exactOptional(),
  }),
  z.strictObject({ type: z.literal('asked'), at, step: z.int(), messages: z.int() }),
  z.strictObject({
    type: z.literal('answered'),
    at,
    step: z.int(),
    content: z.array(PART),
    /** What a person reads: without calls and reasoning. */
    said: z.string(),
    finish: z.string(),
    /** `estimated`: the server has not counted all of them. */
    tokens: z.strictObject({
      input: z.number(),
      output: z.number(),
      estimated: z.literal(true).exactOptional(),
    }),
  }),
  z.strictObject({ type: z.literal('called'), at, call: z.string() }),
  z.strictObject({
    type: z.literal('ended'),
    at,
    call: z.string(),
    /** `ok`, or the code of the error. */
    outcome: z.string(),
    /** What the model reads. */
    text: z.string(),
  }),
  /** It goes on once a person has answered, or the key of its model is there. */
  z.strictObject({ type: z.literal('waits'), at, for: z.string(), call: z.string().exactOptional() }),
  /** It goes on with another model than before. */
  z.strictObject({ type: z.literal('model'), at, model: z.string() }),
  /** Results of these calls are not sent any more. */
  z.strictObject({ type: z.literal('room'), at, calls: z.array(z.string()) }),
  z.strictObject({ type: z.literal('told'), at, text: z.string() }),
  z.strictObject({ type: z.literal('over'), at, why: z.enum(ENDINGS), text: z.string() }),
])

export type Entry = z.output<typeof ENTRY>
export type EntryOf<Type extends Entry['type']> = Extract<Entry, { type: Type }>
export type Over = EntryOf<'over'>

/** An entry without its time. */
export type News = { [Type in Entry['type']]: Omit<EntryOf<Type>, 'at'> }[Entry['type']]
