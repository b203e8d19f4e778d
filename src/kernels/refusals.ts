import { readdirSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { nearest } from '../../tools/nearest.ts'
import { WireError } from '../../wire/errors.ts'
import { DEFAULT_LANGUAGE, LANGUAGES } from '../../wire/languages.ts'
import { isStopped } from '../../wire/process-start.ts'
import type { Program, ProgramEnd, SkippedFile } from '../../wire/programs.ts'
import { isFile, isFolder } from '../files/roots.ts'
import { shellWord } from '../text/escape.ts'
import type { AnnouncedRow } from './announced-row.ts'
import type { Attachment } from './attachment-store.ts'
import { KernelError } from './kernel-error.ts'
import {
  allOf,
  becauseOf,
  fullName,
  groupFor,
  groupOf,
  HAVE_IT_LISTEN,
  type SilentProcess,
  type Target,
} from './programs.ts'
import type { KernelRow } from './rows.ts'
import { isFar, serverAddress, serverOf } from './servers.ts'

/** What whoever wants a kernel is told in place of it. Each says why, and what can be done. */

/** `kernels` may be named; unless `isAlone`, there are others, in other projects. */
export function unknownKernel(
  name: string,
  { kernels, isAlone = true }: { readonly kernels: readonly string[]; readonly isAlone?: boolean },
): KernelError {
  const like = nearest(name, kernels)
  const none = isAlone ? 'None lives at present.' : 'None lives in this project.'
  const others = isAlone ? '' : ' Others live in other projects.'
  const list = isAlone
    ? 'List them with: imago kernels'
    : `attach {"name": ${JSON.stringify(name)}} has a person asked about one of another project. ${ELSEWHERE}`
  const message = `${kernels.length === 0 ? none : `There are: ${kernels.join(', ')}.`}${others}`
  return new KernelError('no_such_kernel', {
    message: `${groupFor(name) ?? `No kernel is named ${JSON.stringify(name)}`}. ${message}`,
    next: like[0] === undefined ? list : `Did you mean ${like.join(', ')}?`,
    details: { kernels, nearest: like },
  })
}

/** Neither a kernel nor a program of the project is called so. */
export function unheardOf(
  name: string,
  {
    kernels,
    listening,
    searched,
    root,
    silent,
  }: {
    readonly root: string
    readonly silent: readonly SilentProcess[]
    readonly kernels: readonly string[]
    readonly listening: readonly string[]
    readonly searched: string
  },
): KernelError {
  const known = [...kernels, ...listening]
  const like = nearest(name, known)
  const there = known.length === 0 ? 'None of this project has.' : `There are: ${known.join(', ')}.`
  const address = serverAddress(name)
  if (address !== undefined)
    return new KernelError('no_such_kernel', {
      message: `Nothing of this project is attached at ${address}, and only a person joins a server there. ${there}`,
      next: `A person types at a terminal: imago attach ${address}`,
      details: { reason: 'not_announced', kernels, announced: listening, nearest: [] },
    })
  return new KernelError('no_such_kernel', {
    message: `${groupFor(name) ?? `No program has announced itself as ${JSON.stringify(name)}`} (looked in ${searched}). ${there}${becauseOf(silent[0])}`,
    next: like[0] === undefined ? waysFrom(root, silent) : `Did you mean ${like.join(', ')}?`,
    details: { reason: 'not_announced', kernels, announced: listening, nearest: like },
  })
}

/** How somebody gets at what is of another project. */
const ELSEWHERE = 'A person at a terminal lists those of all projects with: imago kernels'

/** They are of other projects, so that neither their processes nor what they run is told. */
export function severalElsewhere(name: string, count: number): KernelError {
  return new KernelError('no_such_kernel', {
    message: `${count} programs of other projects are called ${JSON.stringify(name)}. None of them was attached.`,
    next: 'A person at a terminal lists them with: imago kernels   and attaches the one that is meant: imago attach NAME-PID',
    details: { reason: 'several', kernels: [], nearest: [] },
  })
}

/** There is a program of that name; whether it becomes a kernel is for a person to say. */
export function notAttachedYet(
  name: string,
  { name: called, attach, pid, keyed }: Pick<AnnouncedRow, 'name' | 'attach' | 'pid' | 'keyed'>,
): KernelError {
  return new KernelError('no_such_kernel', {
    message: keyed
      ? `${called} (process ${pid}) listens, and needs its key.`
      : `No kernel is named ${JSON.stringify(name)}. A program of that name (process ${pid}) can be attached to.`,
    next: keyed
      ? `A person types: ${withKey(attach)}`
      : `attach {"name": "${attach}"}   or at a terminal: imago attach ${attach}`,
    details: { ...(keyed && { reason: 'none_lives' }), kernels: [], nearest: [], announced: attach },
  })
}

/** ` web (process 4711) listens, and needs its key. A person types: imago attach web-4711 --key-file FILE` */
export const needsKey = (program: Program | undefined): string =>
  program === undefined
    ? ''
    : ` ${program.name} (process ${program.pid}) listens, and needs its key. A person types: ${withKey(fullName(program))}`

/** ` There is worker: attach {"name": "worker"} chooses it for calls without a name.` Empty where nothing else is there. */
export function chooseText(others: readonly string[]): string {
  const [first] = others
  if (first === undefined) return ''
  if (others.length === 1)
    return ` There is ${first}: attach {"name": "${first}"} chooses it for calls without a name.`
  const shown = others.slice(0, MOST_SHOWN).join(', ')
  const more = others.length > MOST_SHOWN ? ` and ${others.length - MOST_SHOWN} more` : ''
  return ` There are ${shown}${more}: attach {"name": NAME} chooses one for calls without a name.`
}

/** Programs that are named in one sentence. */
const MOST_SHOWN = 5

export const withKey = (attach: string): string => `imago attach ${shellWord(attach)} --key-file FILE`

/**
 * Whoever wants to see what is in a program is not shown an empty image that was begun for that. `name` is what was
 * wanted, and `lost` how it has ended. `rows` may be named; `searched` is where programs announce themselves.
 */
export function noneLives(
  { root, name, lost }: { root: string; name: string | undefined; lost: string | undefined },
  {
    rows,
    searched,
    ended,
    silent,
    waiting,
  }: {
    readonly rows: readonly KernelRow[]
    readonly searched: string
    readonly silent: readonly SilentProcess[]
    /** What the project would join, once a person accepts it. */
    readonly waiting: readonly string[]
    /** What became of the last program of the project that an exception ended: see `endOf`. */
    readonly ended: string
  },
): KernelError {
  const living = rows.filter(({ state }) => state !== 'ended')
  const kernels = living.map(({ name }) => name)
  const likely = living.find(({ suspended }) => suspended > 0) ?? living[0]
  const shown = living.map(({ name, suspended }) =>
    suspended === 0 ? name : `${name} (${suspended} suspended)`,
  )
  const besides = shown.length === 0 ? '' : ` There are: ${shown.join(', ')}.`
  const missing =
    name === undefined
      ? `No program of ${root} listens (looked in ${searched})${living.length === 0 ? ', and no kernel lives there' : ''}.`
      : lost === undefined
        ? `No image of ${name} lives.`
        : `The image of ${name} has ended: ${lost.replace(/\.$/, '')}.`
  return new KernelError('no_such_kernel', {
    message:
      `${missing}${ended}${becauseOf(silent[0])} None was started: there would be nothing to see in it.${besides} ${waitsText(waiting)}`.trimEnd(),
    next:
      lost !== undefined
        ? `attach {"name": ${JSON.stringify(name)}} starts it again, and so does code to run there.`
        : likely !== undefined
          ? `Name one, as in {"kernel": "${likely.name}"}`
          : waiting.length > 0
            ? ACCEPT
            : waysFrom(root, silent),
    details: { reason: 'none_lives', kernels, nearest: [] },
  })
}

/** What the caller is told who had an image of ours started again, and how the one before was lost. */
export const begunAgain = (lost: string | undefined): string =>
  `It was started again, and is empty.${lost === undefined ? '' : ` The image before is gone: ${lost}`}`

/** ` app.py ended at 01:21:07 (process 4711): SyntaxError: invalid syntax (app.py:9).` */
export function endOf({ program, ended }: ProgramEnd): string {
  const { name, pid, program: file, announced_at } = program
  const endedAt = new Date(announced_at)
  const time = endedAt.toTimeString().slice(0, 8)
  const isToday = endedAt.toDateString() === new Date().toDateString()
  const at = isToday ? time : `${time} on ${endedAt.toDateString()}`
  return ` ${file === '' ? name : basename(file)} ended at ${at} (process ${pid}): ${ended.replace(/\.$/, '')}.`
}

/** The ways to a program from a folder where none listens. */
const waysFrom = (root: string, [silent]: readonly SilentProcess[]): string =>
  `${silent?.mend ?? `You are in ${root}. Go to the folder of your program, or ${HAVE_IT_LISTEN}`}   ` +
  'Code to run without a program, such as eval_expr, starts an empty image.'

/** The ways to say which one is meant, or that all of one name are, where the call could be for all of them. */
function chooseOne(
  name: string,
  {
    groups,
    mayBeForAll = false,
  }: { readonly groups: readonly string[]; readonly mayBeForAll?: boolean | undefined },
): { readonly next: string; readonly all?: string } {
  const next = `Choose one: attach {"name": "${name}"}   or name it in the call: {"kernel": "${name}"}`
  const group = groups.find((group, index) => groups.indexOf(group) !== index)
  if (group === undefined || !mayBeForAll) return { next }
  const all = allOf(group)
  return { next: `${next}   or ask all: {"kernel": "${all}"}`, all }
}

/** Whether the call could be for all of a group. */
type ForAll = { readonly mayBeForAll?: boolean }

/** Which of them a call is about, its caller has to say. */
export function severalListen(
  root: string,
  programs: readonly [Program, ...Program[]],
  { mayBeForAll }: ForAll,
): KernelError {
  const names = programs.map(fullName)
  const shown = programs.map(one => `${fullName(one)}${one.program === '' ? '' : ` (${one.program})`}`)
  const { next, ...all } = chooseOne(fullName(programs[0]), { groups: programs.map(groupOf), mayBeForAll })
  return new KernelError('no_such_kernel', {
    message: `${programs.length} programs of ${root} listen: ${shown.join(', ')}. None of them was attached.`,
    next,
    details: { reason: 'several', kernels: [], announced: names, nearest: [], ...all },
  })
}

export function severalLive(
  root: string,
  living: readonly { readonly name: string; readonly group: string }[],
  { mayBeForAll }: ForAll,
): KernelError {
  const kernels = living.map(({ name }) => name)
  const groups = living.map(({ group }) => group)
  const { next, ...all } = chooseOne(kernels[0] ?? '', { groups, mayBeForAll })
  return new KernelError('no_such_kernel', {
    message: `Several kernels live in ${root}, and none was named: ${kernels.join(', ')}.`,
    next,
    details: { reason: 'several', kernels, nearest: [], ...all },
  })
}

export function tooManyMembers(
  { group, root }: { group: string | undefined; root: string },
  o: { count: number; most: number },
): KernelError {
  const which = group === undefined ? `live in ${root}` : `live that are called ${group}`
  return new KernelError('kernel_unavailable', {
    message: `${o.count} ${which}; ${o.most} is the most that are asked at once. None of them was.`,
    next: 'Name one of them; kernels lists them.',
    details: { reason: 'too_many', ...o },
  })
}

/** An unnamed call meant the image that this script made, and there is none any more. */
export function programEnded(ended: {
  name: string
  root: string
  script?: string | undefined
  how: string
  language: string
  /** Left out: the daemon knows it no more. */
  again?: string
}): KernelError {
  const { name, root, script, how, language } = ended
  const shown = script === undefined ? undefined : relative(root, resolve(root, script))
  const { again = `imago start ${language}${shown === undefined ? '' : ` --script ${shown}`}` } = ended
  return new KernelError('kernel_unavailable', {
    message: `${name}${shown === undefined ? '' : ` (${shown})`} has ended: ${how}`,
    next: `${again} starts it again, imago start ${language} a new one`,
    details: { reason: 'ended', kernel: name },
  })
}

/** The script is what a person named, so that a wrong name is theirs to mend, and nothing is started. */
export function refuseMissing(root: string, script: string): void {
  const path = resolve(root, script)
  if (isFile(path)) return
  throw new KernelError('kernel_unavailable', {
    message: `There is no file ${path}, so it cannot be run.`,
    next: 'Name a script that is there, as seen from the root of the project.',
    details: { reason: 'no_script', script: path },
  })
}

/** A folder whose files are of other languages alone is asked about: an image of the default one would be believed. */
export function refuseOtherLanguage(root: string): void {
  const names = readdirSync(root)
  const found = LANGUAGES.flatMap(language => {
    const file = names.find(name => language.files.some(end => name.endsWith(end)))
    return file === undefined ? [] : [{ ...language, file }]
  })
  if (found.length === 0 || found.some(({ name }) => name === DEFAULT_LANGUAGE.name)) return
  const ways = found.flatMap(({ name, server }) => [
    ...(server?.secret ? [`imago attach ${server.scheme}://${server.port}   joins one that runs`] : []),
    `imago start ${name}   starts one`,
  ])
  const told = found.map(({ title, file }) => `${title} (${file})`).join(' and ')
  throw new KernelError('kernel_unavailable', {
    message: `Nothing lives in ${root}, which holds ${told}. No ${DEFAULT_LANGUAGE.title} was started for it.`,
    next: `A person says which it is: ${[...ways, `imago start ${DEFAULT_LANGUAGE.name}`].join('; ')}`,
    details: { reason: 'which_language', languages: found.map(({ name }) => name) },
  })
}

/** The file of a project with addresses to join that nobody has accepted yet, and what is said of it. */
export const waitingFiles = (root: string, addresses: readonly string[]): readonly SkippedFile[] =>
  addresses.length === 0 ? [] : [{ file: join(root, 'imago.toml'), reason: waitingText(addresses) }]

/** The same as a sentence. */
export const waitsText = (addresses: readonly string[]): string =>
  addresses.length === 0 ? '' : `Its imago.toml ${waitingText(addresses)}.`

const waitingText = (addresses: readonly string[]) =>
  `names ${addresses.join(' and ')} to join, which waits until a person accepts it: imago policy accept`

const ACCEPT = 'A person accepts what the project joins: imago policy accept'

/**
 * The project's file says that its calls begin none, or what they join; `name`: the one that was meant, which a person has
 * started before. `waiting`: what would be joined, once a person accepts it.
 */
export function noPython(
  root: string,
  {
    name,
    waiting = [],
    begins = false,
  }: { readonly name?: string; readonly waiting?: readonly string[]; readonly begins?: boolean },
): KernelError {
  const [missing, again] =
    name === undefined
      ? [`Nothing lives in ${root}`, '']
      : [`${name} of ${root} has ended`, `imago restart ${name}, `]
  const why = begins ? '' : ': its imago.toml says python = false'
  const start = begins ? `; or starts a Python: imago start ${DEFAULT_LANGUAGE.name}` : ''
  return new KernelError('kernel_unavailable', {
    message: `${missing}, and no Python is begun there${why}. ${waitsText(waiting)}`.trimEnd(),
    next:
      waiting.length > 0
        ? `${ACCEPT}${start}`
        : `A person starts or attaches what is meant: ${again}imago start LANGUAGE, imago attach NAME`,
    details: { reason: 'no_python' },
  })
}

export function badName(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `${JSON.stringify(name)} cannot be the name of a kernel.`,
    next: 'Use up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
    details: { reason: 'bad_name' },
  })
}

export function nameTaken(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `A kernel named ${name} lives already.`,
    next: `Choose another name, or: imago restart ${name}`,
    details: { reason: 'name_taken', kernel: name },
  })
}

export function badRoot(root: string, home: string): KernelError {
  const what =
    root === home
      ? 'your home directory'
      : isFolder(root)
        ? 'a folder that your home directory lies in'
        : 'no folder'
  return new KernelError('kernel_unavailable', {
    message: `${root} is ${what}, and no project: nothing is found there by its folder, and no kernel lives there.`,
    next:
      'Name a program: attach {"name": NAME}   or call from the folder of a project; for an MCP server: ' +
      'imago mcp --root FOLDER',
    details: { reason: 'bad_root', root },
  })
}

export function unknownLanguage(language: string, languages: readonly string[]): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `There are no kernels for ${JSON.stringify(language)}.`,
    next: `Languages: ${languages.join(', ')}.`,
    details: { reason: 'unknown_language', languages },
  })
}

export function shuttingDown(): KernelError {
  const message = 'The daemon is shutting down, and starts nothing any more.'
  return new KernelError('kernel_unavailable', { message, next: null, details: { reason: 'shutting_down' } })
}

// What whoever wants to attach to a program is told in place of it.

export const GIVE_KEY = 'Give it with --key-file FILE, or in $IMAGO_KEY'

/** How a person joins a program again that has ended. `pid`: the process of a program that was detached and still runs. */
export function wayBack(
  { announced, address, name, secret }: Pick<Attachment, 'announced' | 'address' | 'name' | 'secret'>,
  pid?: number,
): string {
  const target = announced ?? address
  const server = serverOf(address)
  // Without this option the secret of the home directory would be sent, and a wrong secret does harm.
  const key = secret.from === 'file' ? shellWord(secret.path) : secret.from === 'person' ? 'FILE' : undefined
  const insisted = [
    ...(key === undefined ? [] : [` --key-file ${key}`]),
    ...(server?.secret && secret.from === 'none' ? [' --no-secret'] : []),
    ...(server?.secret && isFar(address) ? [' --anywhere'] : []),
  ].join('')
  if (pid !== undefined)
    return `To join it again: imago attach ${announced === null ? address : pid}${insisted}`
  const how = server?.listen === undefined ? '' : `, ${server.listen}`
  const named = target === name ? '' : ` --name ${name}`
  const when = secret.from === 'person' ? 'With its key, once it listens' : 'Once it listens again'
  return `${when}${how}: imago attach ${target}${named}${insisted}`
}

/** `within`: the only project whose kernels may be named. */
export function attachedAlready({ name, pid, state, root }: KernelRow, within = root): KernelError {
  if (root !== within)
    return new KernelError('kernel_unavailable', {
      message: 'That program is attached already, for another project.',
      next: ELSEWHERE,
      details: { reason: 'attached_already' },
    })
  const who = pid === null ? 'That program' : `Process ${pid}`
  const away = state === 'away' ? ' Its link is being made again at this moment.' : ''
  return new KernelError('kernel_unavailable', {
    message: `${who} is attached already, as ${name}.${away}`,
    next: `Use it with: --kernel ${name}`,
    details: { reason: 'attached_already', kernel: name },
  })
}

export function isOwned(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `${name} is no program that Imago was attached to: Imago started it, and it ends with Imago.`,
    next: `imago stop ${name} ends it`,
    details: { reason: 'owned', kernel: name },
  })
}

/** Why a program could not be joined, in words about that program. */
export function notAttached(
  error: unknown,
  { target, key, silent }: { target: Target; key: string | undefined; silent: readonly SilentProcess[] },
): unknown {
  if (!(error instanceof WireError)) return error
  const { address, program } = target
  const who =
    program === undefined ? `What listens at ${address}` : `${program.name} (process ${program.pid})`
  const stopped = program && stoppedText(program.pid)
  const unheard = silent.find(({ pid }) => pid === program?.pid)
  const [message, next] = unheard
    ? [`${who} does not listen: it ${unheard.why}.`, unheard.mend]
    : (serverOf(address)?.explained(error, address) ?? explained(error, { who, key, stopped }))
  return new KernelError('kernel_unavailable', {
    message,
    next,
    details: { reason: error.remote?.code ?? error.code, address },
    cause: error,
  })
}

export type Explained = readonly [message: string, next: string]

export function explained(
  error: WireError,
  { who, key, stopped }: { who: string; key: string | undefined; stopped?: string | null | undefined },
): Explained {
  switch (error.code) {
    case 'REMOTE_FAULT':
      if (error.remote?.code === 'occupied')
        return [
          `${who} is attached to another daemon, or under another address: ${error.remote.message}`,
          'Let go of it there first: imago detach NAME',
        ]
      return [`${who} refused: ${error.remote?.message ?? error.message}`, 'See what it says, and try again.']
    case 'NOT_AUTHENTICATED':
      return key === undefined
        ? [`${who} was not attached to: ${error.message}`, GIVE_KEY]
        : [`${who} does not know the key that was given: ${error.message}`, GIVE_KEY]
    case 'LINK_REFUSED':
      return [`${who} cannot be reached: ${error.message}`, 'In the program: import imago; imago.listen()']
    case 'HANDSHAKE_TIMEOUT':
      return [
        `${who} accepts connections and says nothing: ${stopped ?? `it is frozen, or its interpreter is held by code in C. ${error.message}`}`,
        'Try again once it runs.',
      ]
    default:
      return [`${who} was not attached to: ${error.message}`, 'imago kernels shows what can be attached to']
  }
}

/** What is said of a kernel whose process is stopped; null where it is not. */
export const stoppedText = (pid: number): string | null =>
  isStopped(pid) ? `Process ${pid} is stopped, as by Ctrl-Z. kill -CONT ${pid} lets it go on.` : null
