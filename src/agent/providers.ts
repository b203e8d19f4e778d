import { APICallError, type LanguageModelV3 } from '@ai-sdk/provider'
import { messageOf } from '../../wire/errors.ts'
import { readSecretFile } from '../../wire/secret-file.ts'
import type { Config } from '../config.ts'
import { EXIT, Failure } from '../failure.ts'
import { KEY_VARIABLES, type KeyVariable } from './keys.ts'
import { request } from './request.ts'

type Settings = Config['agent']
/** The format in which a model is spoken to. All other providers, and all local servers, speak `openai`. */
type Api = NonNullable<Settings['api']>

interface Provider {
  readonly variable: KeyVariable
  readonly url: string
  /** Where none is configured. */
  readonly model?: string
}

const PROVIDERS: Readonly<Record<Api, Provider>> = {
  anthropic: {
    variable: 'ANTHROPIC_API_KEY',
    url: 'https://api.anthropic.com/v1',
    model: 'claude-sonnet-5-5',
  },
  openai: { variable: 'OPENAI_API_KEY', url: 'https://api.openai.com/v1' },
}

type Environment = Readonly<Record<string, string | undefined>>

export interface OpenModel {
  readonly model: LanguageModelV3
  /** Where its key came from the environment: a process that goes on with the run needs it. */
  readonly key: { readonly variable: KeyVariable; readonly value: string } | undefined
  /** Without its key, which a server may have quoted. */
  redacted(text: string): string
}

interface Asking {
  readonly env: Environment
  /** The variable that had the key of a run that goes on. */
  readonly needs?: KeyVariable | undefined
  /** Aborts looking for one. */
  readonly signal: AbortSignal
}

/** There is none, or its key has gone. `variable`: which would do. */
export class NoModel extends Failure {
  readonly variable: string

  constructor(message: string, variable: string) {
    super(message, { exit: EXIT.usage })
    this.variable = variable
  }
}

/**
 * The model of the configuration, or the one whose key the environment has. Its key goes to its own address alone, and is in
 * no text of ours. Throws `NoModel`, which names the variable; also where `needs` is missing, the variable of a run that goes on.
 */
export async function openModel(settings: Settings, { env, needs, signal }: Asking): Promise<OpenModel> {
  const api = settings.api ?? (settings.url === undefined ? apiWithKey(env, needs) : 'openai')
  if (api === undefined && settings.key_file === undefined)
    throw new NoModel(
      `no model. Set ${KEY_VARIABLES.join(' or ')}, or [agent] url for a local server: docs/agent.md`,
      KEY_VARIABLES.join(' or '),
    )
  const { variable, url, model: usual } = PROVIDERS[api ?? 'anthropic']
  const key = settings.key_file === undefined ? env[variable] : keyIn(settings.key_file)
  if (!key && (settings.url === undefined || variable === needs))
    throw new NoModel(`no model. Set ${variable}: docs/agent.md`, variable)
  if (key && !/^[\x21-\x7e]+$/.test(key))
    throw new NoModel(
      `no model. The key in ${settings.key_file ?? variable} has a character that no key has`,
      variable,
    )
  const address = settings.url ?? url
  const name =
    settings.model ?? (settings.url === undefined ? usual : await firstModel(address, { key, signal }))
  if (name === undefined)
    throw new NoModel('no model. Name one: [agent] model = "..." in config.toml, docs/agent.md', variable)
  return {
    model: await modelOf(api ?? 'anthropic', { address, key, name }),
    key: key && settings.key_file === undefined ? { variable, value: key } : undefined,
    redacted: redactedOf(key),
  }
}

const redactedOf = (key: string | undefined) => (text: string) => (key ? text.replaceAll(key, '[key]') : text)

/** That of the variable which a run needs, where there is one; else of the first that is set. */
const apiWithKey = (env: Environment, needs: KeyVariable | undefined): Api | undefined =>
  (['anthropic', 'openai'] as const).find(api => {
    const { variable } = PROVIDERS[api]
    return needs === undefined ? env[variable] : variable === needs
  })

interface Spoken {
  readonly address: string
  readonly key: string | undefined
  readonly name: string
}

async function modelOf(api: Api, { address, key, name }: Spoken): Promise<LanguageModelV3> {
  if (api === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({ baseURL: address, apiKey: key ?? 'none', fetch: request })(name)
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const more = { includeUsage: true, fetch: request, ...(key && { apiKey: key }) }
  const options = { name: 'openai', baseURL: address, ...more }
  return createOpenAICompatible(options)(name)
}

function keyIn(path: string): string {
  try {
    const key = readSecretFile(path).trim()
    if (key !== '') return key
  } catch (error) {
    throw new NoModel(`no key. ${messageOf(error)}`, path)
  }
  throw new NoModel(`no key. ${path}, which [agent] key_file names, is empty`, path)
}

const LIST_MS = 10_000

/** The first model that a local server lists. */
async function firstModel(
  url: string,
  { key, signal }: { readonly key: string | undefined; readonly signal: AbortSignal },
): Promise<string> {
  try {
    const answer = await request(`${url.replace(/\/$/, '')}/models`, {
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]),
    })
    const { data } = (await answer.json()) as { data?: readonly { id?: unknown }[] }
    const id = data?.[0]?.id
    if (typeof id === 'string') return id
    throw new Error(`it answered ${answer.status} and named none`)
  } catch (error) {
    throw new Failure(
      `no model: ${url} was asked for its models, and ${redactedOf(key)(reasonOf(error))}. Is the server there? Or name one: [agent] model`,
      { exit: EXIT.usage },
    )
  }
}

/** Why a request came to nothing, as a clause. A server's own words are cut. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'an answer that is none'
  if (APICallError.isInstance(error) && error.statusCode !== undefined)
    return `the server answered ${error.statusCode}: ${error.message.slice(0, 500).replace(/\.+$/, '')}`
  const { cause } = error
  const why =
    cause instanceof Error && cause.message !== '' ? `${error.message} (${cause.message})` : error.message
  return why.replace(/\.+$/, '')
}
