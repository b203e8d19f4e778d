import { basename } from 'node:path'
import type { Yes } from '../../policy/file.ts'

/**
 * Who may approve: the whole rule, as functions over facts of processes. `processes.ts` reads the facts from the system.
 * What a program says of itself is no evidence: no message and no command line. A client's own name can only add doubt, or be
 * what the user's policy goes by once the host is known.
 *
 * A process gets a **seat** where all of this holds:
 *
 * 1. It is the process that asks: it holds a file open that nobody else was told of. It belongs to this user.
 * 2. A person runs it: it is in the foreground of a terminal, reads from that terminal and writes to it.
 * 3. No model runs it: neither the process nor any that started it is a kernel, an attached program, the host of an MCP
 *    server, or the daemon.
 * 4. Nothing of that kind is at its terminal: what runs at a terminal may be able to type there (TIOCSTI). This is
 *    looked at again before anything is done from the seat.
 * 5. Those who sit already admit it (`seats.ts` asks them).
 *
 * A **program without a terminal**, such as an editor, gets a seat where 1, 3 and 5 hold, with one exception to 3: it may host a
 * model. Its editor is the program that writes to its input, or else itself. Where something of 3 is the editor, runs below it
 * or is at its terminal, that may drive it: a person has to let it in, even where nobody sits, and is told so.
 *
 * An **answer with a code** counts where 1 and 3 hold. A script has no terminal.
 *
 * The **yes of an MCP client** counts without a seat, where all of this holds:
 *
 * 1. Its host is known, and stands right above `imago mcp`.
 * 2. No model runs that host: it is not below a kernel, an attached program, the daemon, or another such host.
 * 3. It is not known to answer without a person. Here alone the user's policy decides otherwise, either way.
 *
 * Where a system tells nothing of processes (macOS), a client that asks for a seat is taken at its word, and a client's
 * yes counts where the policy says so.
 */

/** One process, as the system tells of it. */
export interface Process {
  readonly pid: number
  readonly parent: number
  /** Its process group, and the session that it belongs to, by the numbers of their leaders. */
  readonly group: number
  readonly session: number
  /** The number of the device of its controlling terminal; 0 without one. */
  readonly terminal: number
  /** The process group in the foreground of that terminal. */
  readonly foreground: number
  /** When it began: with the number this names one process for good. */
  readonly started: string
  readonly uid: number
  /** The pipe or socket that is its standard input, by a name that no other has; undefined for anything else. */
  readonly input: string | undefined
  /** Whether it descends from a kernel, or a program of `imago run`. It can have parted from its parents since. */
  readonly fromKernel: boolean
  /** What it was called with, as it says itself. For people. */
  readonly command: string
}

/** A process, the one that started it, and so on: as far as they still live. */
export type Line = readonly Process[]

/** A process below which nobody approves. `what` names it: `the kernel shop`. */
export interface NoApprover {
  readonly pid: number
  /** Undefined where it is not known: then the number alone counts. */
  readonly started?: string
  readonly what: string
  /** It is the host of an MCP server. */
  readonly isHost?: true
}

/** What is known of a client that asks for a seat. */
export type SeatFacts =
  | {
      readonly type: 'seen'
      /** The number that the client gave. */
      readonly pid: number
      /** Empty: no such process lives. */
      readonly line: Line
      /** Whether it holds the file open that the client was told of. */
      readonly holdsFile: boolean
      /** The devices that it reads from and writes to, and the name of the first. */
      readonly reads: number
      readonly writes: number
      readonly device: string
      /** What runs at its terminal, itself among them. */
      readonly beside: readonly Line[]
      readonly daemon: DaemonFacts
    }
  /** This system tells of no process more than when it began. */
  | { readonly type: 'unseen'; readonly pid: number; readonly started: string | undefined }
  /** It did not take part. `why` is a sentence. */
  | { readonly type: 'silent'; readonly why: string }

/** Of the daemon itself. */
export interface DaemonFacts {
  readonly uid: number | undefined
  readonly fromKernel: boolean
}

/** Who is at the terminal, or why that is nobody who could have a seat. */
export type Judgement =
  | {
      readonly type: 'proved'
      readonly pid: number
      readonly started: string
      readonly terminal: string
      readonly command: string
      /** `terminal /dev/pts/3 (process 4711)` */
      readonly who: string
      /** Of a program without a terminal: the process of its editor, or its own. */
      readonly editor?: Pick<Process, 'pid' | 'started'>
    }
  /** `who` is empty where no process is known. `why` is a sentence for a person, and `next` says what to do. */
  | { readonly type: 'unproved'; readonly who: string; readonly why: string; readonly next: string }

const AT_A_TERMINAL = 'Run imago watch in a terminal of your own, as a command by itself.'

const ELSEWHERE = 'Open a terminal by other means, and run imago watch there.'

/**
 * Whether a client may have a seat, at a terminal or through an editor, as far as its process tells; or, where it `gives` a
 * code, whether that counts.
 */
export function judgeSeat(
  facts: SeatFacts,
  barred: readonly NoApprover[],
  { gives = 'answers' }: { readonly gives?: 'answers' | 'answers through an editor' | 'a code' } = {},
): Judgement {
  if (facts.type === 'silent') return unproved('', [facts.why, AT_A_TERMINAL])
  const isThrough = gives === 'answers through an editor'
  if (facts.type === 'unseen') return judgeUnseen(facts, isThrough)
  const { pid, line, holdsFile, device, beside, daemon } = facts
  const [seen] = line
  const who = `process ${pid}`
  if (seen === undefined) return unproved(who, [`There is no process ${pid}.`, AT_A_TERMINAL])
  if (seen.uid !== daemon.uid)
    return unproved(who, [`Process ${pid} belongs to another user.`, AT_A_TERMINAL])
  if (!holdsFile)
    return unproved(who, [`Process ${pid} has not opened the file that it was told of.`, AT_A_TERMINAL])
  const command = shortly(seen.command)
  const editor = isThrough ? editorOf(line) : undefined
  const fault =
    (gives === 'answers' ? terminalFault(seen, facts) : undefined) ??
    descentFault(line, {
      barred: editor === undefined ? barred : barredAbove(editor, { line, barred }),
      daemon,
    }) ??
    (gives === 'answers' ? sharedFault(beside, barred) : undefined)
  if (fault !== undefined) return unproved(`${who} (${command})`, fault)
  const proved = { type: 'proved', pid, started: seen.started, command } as const
  if (editor === undefined) return { ...proved, terminal: device, who: `terminal ${device} (${who})` }
  const through = `through ${nameOf(editor)}`
  return { ...proved, editor, terminal: through, who: `${through} (process ${editor.pid})` }
}

function judgeUnseen(
  { pid, started }: Extract<SeatFacts, { type: 'unseen' }>,
  isThrough: boolean,
): Judgement {
  const place = isThrough ? 'an editor' : 'a terminal'
  const who = `${place} (process ${pid}, as it says itself)`
  if (started === undefined) return unproved(who, [`There is no process ${pid}.`, AT_A_TERMINAL])
  const editor = { pid, started }
  return { type: 'proved', pid, started, terminal: place, command: '', who, ...(isThrough && { editor }) }
}

/** What writes to the input of a client, as an editor does to its language server; where that is no pipe, the client. */
function editorOf(line: Line): Process | undefined {
  const [seen] = line
  return (seen?.input === undefined ? undefined : hostOf(line)) ?? seen
}

/** Without the hosts of models that are the client, its editor, or a process between the two. */
function barredAbove(
  editor: Process,
  { line, barred }: { readonly line: Line; readonly barred: readonly NoApprover[] },
): readonly NoApprover[] {
  const within = line.slice(0, line.indexOf(editor) + 1)
  return barred.filter(one => !one.isHost || within.every(({ pid }) => pid !== one.pid))
}

export type Fault = readonly [why: string, next: string]

function terminalFault(
  { pid, terminal, foreground, group }: Process,
  { reads, writes }: { readonly reads: number; readonly writes: number },
): Fault | undefined {
  if (terminal === 0)
    return [`Process ${pid} has no terminal.`, `${AT_A_TERMINAL} An editor asks with "through".`]
  if (foreground !== group)
    return [`Process ${pid} is in the background of its terminal.`, 'Bring it to the foreground: fg']
  if (reads !== terminal || writes !== terminal)
    return [
      `Process ${pid} does not read from its terminal and write to it.`,
      'Run it without redirecting its input or output.',
    ]
  return undefined
}

function descentFault(
  line: Line,
  { barred, daemon }: { readonly barred: readonly NoApprover[]; readonly daemon: DaemonFacts },
): Fault | undefined {
  const [{ pid, fromKernel } = { pid: 0, fromKernel: true }] = line
  if (daemon.fromKernel)
    return [
      `The daemon itself was started from inside ${MARKED}, so it gives nobody a seat.`,
      'End it with imago shutdown, and start it from a terminal: imago kernels',
    ]
  if (fromKernel)
    return [`Process ${pid} was started from inside ${MARKED}: its limit on file locks shows it.`, ELSEWHERE]
  const found = barredIn(line, barred)
  if (found === undefined) return undefined
  const is = found.pid === pid ? 'is' : 'was started by'
  return [`Process ${pid} ${is} ${found.what} (process ${found.pid}), which may not approve.`, ELSEWHERE]
}

const MARKED = 'a kernel, or a program of imago run'

/** Why a person is not alone at a terminal, where those processes are. The daemon itself runs no code of others. */
export function sharedFault(beside: readonly Line[], barred: readonly NoApprover[]): Fault | undefined {
  const found = firstBarred(beside, barred)
  if (found === undefined) return undefined
  return [
    `Process ${found}, is at this terminal too, and may type there.`,
    'Open another terminal, and run imago watch there. With setsid, a program has no terminal to type at: setsid imago run -- COMMAND',
  ]
}

/** What may drive an editor, of those processes below it and at its terminal: `process 5 (node), the host of …`. */
export function driverOf(near: readonly Line[], barred: readonly NoApprover[]): string | undefined {
  const found = firstBarred(near, barred)
  return found && `process ${found}`
}

/** The first that may not approve, and what it is; the daemon does not count. */
function firstBarred(lines: readonly Line[], barred: readonly NoApprover[]): string | undefined {
  const programs = barred.filter(({ what }) => what !== THE_DAEMON)
  for (const line of lines) {
    const [first] = line
    if (first === undefined) continue
    const found = barredIn(line, programs)
    if (found === undefined && !first.fromKernel) continue
    const whose = found?.what ?? MARKED
    return `${first.pid} (${nameOf(first)}), ${found?.pid === first.pid ? whose : `of ${whose}`}`
  }
  return undefined
}

export const THE_DAEMON = 'the daemon'

/** The nearest of the processes of a line that is barred. */
function barredIn(line: Line, barred: readonly NoApprover[]): NoApprover | undefined {
  for (const { pid, started } of line) {
    const found = barred.find(one => one.pid === pid && (one.started ?? started) === started)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The host of an MCP server, which writes to the input of that bridge: the nearest process above it that has another
 * input. What stands between has handed its own input on, as `npx` and a shell do. A terminal is no such sign, for all
 * that runs there has it. Undefined: no process above it lives.
 */
export function hostOf([bridge, ...above]: Line): Process | undefined {
  return above.find(({ input }) => input === undefined || input !== bridge?.input)
}

/** Whether it leads a session at a terminal. One that ran `imago mcp` by hand has the terminal back afterwards. */
export const isShell = ({ pid, session, terminal }: Process): boolean => pid === session && terminal !== 0

export const nameOf = ({ command }: Process): string => basename(command.split(' ')[0] ?? command)

/** What is known of a client that answers over MCP. */
export interface AnswerFacts {
  /** The bridge and all that started it, as they were when it came. `unseen`: no system call tells. */
  readonly bridge: Line | 'hidden' | 'unseen'
  readonly daemon: DaemonFacts
  /** All but its own host. */
  readonly barred: readonly NoApprover[]
  /** What the client calls itself. */
  readonly client: string
  /** What the user's policy says of that name. */
  readonly yes: Yes | undefined
}

/** Clients that are known to answer questions of MCP servers without a person, by how the names that they give begin. */
const BY_THEMSELVES: readonly (readonly [name: string, why: string])[] = [
  // openai/codex, pull requests 17164 and 21277: empty forms, which ours never are; nothing says that it stops there.
  ['codex', 'Codex accepts some questions by itself in full access'],
  // The hooks Elicitation and ElicitationResult in its settings, which a project can bring, and the mods of plugins,
  // which run inside it and can take its events over (code.claude.com/docs/en/plugins/mods).
  [
    'claude-code',
    'a hook in the settings of Claude Code or of a project, or a mod, can answer in the place of a person',
  ],
]

/** Why a yes of this client may not be a person's, as a clause; undefined where it counts. */
export function answerDoubt(facts: AnswerFacts): string | undefined {
  const { bridge, client, yes } = facts
  const why = hostDoubt(facts)
  if (why !== undefined) return why
  if (yes === 'asks_a_seat') return 'the policy has a seat asked all the same'
  if (yes === 'counts') return undefined
  if (bridge === 'unseen') return 'this system does not tell which program answers'
  return answersByItself(client)
}

/** Why a client of that name may answer without a person, as a clause; undefined where that is not known of it. */
export function answersByItself(client: string): string | undefined {
  return BY_THEMSELVES.find(([name]) => client.startsWith(name))?.[1]
}

/** A name is only what a program calls itself: no policy lets one count for a program that may not approve. */
function hostDoubt({ bridge, daemon, barred }: AnswerFacts): string | undefined {
  if (bridge === 'unseen') return undefined
  const host = bridge === 'hidden' ? undefined : hostOf(bridge)
  if (bridge === 'hidden' || host === undefined) return 'it is not known which program answers'
  const [server, above] = bridge
  if (daemon.fromKernel || server?.fromKernel) return `its program was started from inside ${MARKED}`
  const found = barredIn(bridge, barred)
  if (found !== undefined) return `its program was started by ${found.what} (process ${found.pid})`
  // Whoever hands its input on to a bridge can write there, too.
  if (above === undefined || above.pid === host.pid) return undefined
  return `another program, ${nameOf(above)}, stands between it and imago mcp`
}

const shortly = (command: string) => (command.length > 200 ? `${command.slice(0, 200)}…` : command)

const unproved = (who: string, [why, next]: Fault): Judgement => ({ type: 'unproved', who, why, next })
