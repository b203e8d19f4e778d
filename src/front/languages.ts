import { existsSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { oneLine } from '../../tools/text.ts'
import { type Language, languageNamed } from '../../wire/languages.ts'
import type { Started } from '../../wire/process-start.ts'
import type { SilentProcess } from '../kernels/programs.ts'
import { PACKAGE_ROOT } from '../paths.ts'
import type { Blocks } from './blocks.ts'
import type { DaemonClient } from './client.ts'
import type { Area, Check } from './commands/language-checks.ts'

/** What the front ends know of a language besides its colours. Whatever is large is loaded when it is wanted. */
interface FrontLanguage {
  /** Puts typed lines together to what is run at once. */
  blocks(how: { readonly emptyLineEnds: boolean }): Promise<Blocks>
  /** What a person does where there is no far end to install. */
  readonly insteadOfRuntime?: string
  /** For `imago doctor`: whether a kernel can be started here; and what that is called where nothing can be checked. */
  check(client: DaemonClient, language: Language): Promise<Area>
  unchecked(unknown: (name: string) => Check): Promise<readonly Check[]>
  readonly editor: Omit<EditorLanguage, 'name'>
}

/** How the text of a language is read in an editor. */
export interface EditorLanguage {
  /** As kernels spell it. */
  readonly name: string
  /** What editors call it. */
  readonly ids: readonly string[]
  /** The expression before a place, and the rest of the name behind it. */
  readonly left: RegExp
  readonly right: RegExp
  /** A line that begins a definition at the top level, with its name. */
  readonly definition?: RegExp
  /** Where a static server is usual beside ours. */
  readonly static?: StaticText
}

/** How a static server finds the names of a text. */
interface StaticText {
  /** Statements that bind names, which are the words of a group; of the first one, by a definition. */
  readonly binds: RegExp
  /** The bodies of definitions, each behind two groups: its indentation and its first line. Names in a body are local. */
  bodies(isClass: boolean): RegExp
  /** An import that a text ends in. */
  readonly importing: RegExp
  /** Code that goes on with the names which every text has, and with those that one has from other modules or classes. */
  readonly always: string
  besides(text: string, isClass: boolean): readonly string[]
}

/** Other modules or classes at most that are asked for their names. */
const MOST_BESIDES = 20

/** `NAME` and a space stand for the characters of a name and of a blank. */
const PYTHON_BINDS = new RegExp(
  `^ *(?:${[
    '(?:async +)?(?:def|class) +([NAME]+)',
    '(?:async +)?for +([^\\n:]{1,200}?) in\\b',
    '(?:async +)?with\\b[^\\n]* as +([NAME]+)',
    '(?:from +[NAME.]+ +)?import\\b *(\\([^()]{0,5000}\\)|[^\\n(#;]*)',
    // With a comma or a bracket behind it, this is an argument on a line of its own.
    '(?!(?:if|elif|while)\\b)([NAME*](?:[NAME,*]| )*?)(?::[^\\n=]+)?=(?!=)(?![^\\n(]*[,)]$)',
  ].join('|')})`
    .replaceAll('NAME', '\\p{L}\\p{N}_')
    .replaceAll(' ', '[ \\t]'),
  'gmu',
)

const checks = () => import('./commands/language-checks.ts')

const FRONT: Readonly<Record<string, FrontLanguage>> = {
  python: {
    blocks: async how => (await import('./blocks.ts')).openBlocks(how),
    check: async (...asked) => (await checks()).checkPython(...asked),
    unchecked: async unknown => [(await checks()).findInterpreter(), unknown('a kernel')],
    editor: {
      ids: ['python'],
      left: /(?:[\p{L}\p{N}_]+(?:\[[^\][]*\])*\.)*[\p{L}\p{N}_]*$/u,
      right: /^[\p{L}\p{N}_]*/u,
      definition: /^(?:async\s+)?(?:def|class)\s+([\p{L}_][\p{L}\p{N}_]*)/u,
      static: {
        binds: PYTHON_BINDS,
        bodies: isClass =>
          RegExp(
            `^([ \\t]*)((?:async[ \\t]+)?${isClass ? 'def' : '(?:def|class)'}\\b[^\\n]*)(?:\\n(?:\\1[ \\t][^\\n]*|[ \\t]*(?=\\n|$)))*`,
            'gm',
          ),
        importing: /(?:^|\n)[ \t]*(?:import|from)\b[^\n(]*(?:\([^()]{0,5000})?$/u,
        always: 'from builtins import ',
        besides(text, isClass) {
          const stars = /^[ \t]*from[ \t]+([\p{L}\p{N}_.]+)[ \t]+import[ \t]*\*/gmu
          const modules = new Set([...text.matchAll(stars)].map(([, module]) => module))
          if (!isClass) return [...modules].slice(0, MOST_BESIDES).map(module => `from ${module} import `)
          const [, bases = ''] = /^[ \t]*class[ \t]+[^\s(:]+[ \t]*\(([^)=]*)/mu.exec(text) ?? []
          return ['object', ...bases.split(',', MOST_BESIDES)].map(base => `${base.trim()}.`)
        },
      },
    },
  },
  lisp: {
    blocks: async how => (await import('./lisp-blocks.ts')).openLispBlocks(how),
    insteadOfRuntime:
      'There is nothing to install for Lisp: Imago speaks through Swank, which the image has already, and leaves nothing ' +
      'there. In the image: (swank:create-server :dont-close t)   Then: imago attach swank://4005',
    check: async (...asked) => (await checks()).checkLisp(...asked),
    unchecked: async unknown => [unknown('a lisp kernel')],
    editor: {
      ids: ['lisp', 'commonlisp', 'common-lisp'],
      left: /[^\s()'"`,;#|]*$/,
      right: /^[^\s()'"`,;#|]*/,
      definition: /^\(def(?:un|macro|generic|class|struct|type|var|parameter|constant)\s+\(?([^\s()]+)/i,
    },
  },
  wolfram: {
    blocks: async how => (await import('./wolfram-blocks.ts')).openWolframBlocks(how),
    insteadOfRuntime:
      'There is nothing to install into an engine: imago install wolfram brings one of its own, imago start wolfram takes ' +
      'yours, and imago attach wstp://31415 a kernel of your wstpserver.',
    check: async (...asked) => (await checks()).checkWolfram(...asked),
    unchecked: async unknown => [unknown('a wolfram kernel')],
    editor: { ids: ['wolfram', 'mathematica', 'mma'], left: /[\p{L}\p{N}$`]*$/u, right: /^[\p{L}\p{N}$`]*/u },
  },
}

/** Undefined for a language that Imago does not know. */
export const frontLanguage = (name: string): FrontLanguage | undefined =>
  languageNamed(name) === undefined ? undefined : FRONT[name]

/** Undefined for what Imago does not know. */
export function editorLanguage(id: string): EditorLanguage | undefined {
  for (const [name, { editor }] of Object.entries(FRONT))
    if (editor.ids.includes(id)) return { name, ...editor }
  return undefined
}

/** In the place of the command that a person has to put before ours, where that is not known. */
const LAUNCHER = 'LAUNCHER'

/** Characters that are shown of a command that works. */
const MOST_WORDS = 500

const RUN_FOLDER = join(PACKAGE_ROOT, 'wire/peers/python/run')

const isPython = (command = '') => /^python[\d.]*$/.test(basename(command))

/** A variable that a command sets for its program. */
const ASSIGNED = /^((?!PYTHONPATH=)[A-Za-z_]\w*=).*$/s

/** A command without what its program is given, and without values of variables, which may be secrets. */
export function withoutArguments(given: readonly string[]): readonly string[] {
  const words = given.map(word => word.replace(ASSIGNED, '$1…').replace(/^(-c).+$/s, '$1…'))
  const python = words.findIndex(isPython)
  const file = words.findIndex((word, at) => at > python && (word === '-c' || !word.startsWith('-')))
  return python < 0 || file < 0 || file === words.length - 1 ? words : [...words.slice(0, file + 1), '…']
}

/** The option by which a Python of that command does not listen, and what it does not do for that. */
function deafPython([command = '', ...words]: readonly string[]) {
  if (!isPython(command)) return undefined
  const first = words.findIndex(word => !/^-[A-Za-z]+$/.test(word) || /^-[cm]/.test(word))
  const options = first < 0 ? words : words.slice(0, first)
  const deaf = options.find(option => /^-[A-Za-z]*[ISE]/.test(option))
  if (deaf === undefined) return undefined
  const why = /[IE]/.test(deaf) ? 'does not read PYTHONPATH' : 'does not run sitecustomize'
  return { option: deaf, why, mend: `Leave ${deaf} out.` }
}

/**
 * What `imago run` adds to the environment of a command, so that every Python of it listens. `heard`: a folder where each
 * process says that it does, or why not.
 */
export const listening = ({ name, heard }: { readonly name: string; readonly heard: string }) => ({
  PYTHONPATH: [RUN_FOLDER, ...(process.env.PYTHONPATH ? [process.env.PYTHONPATH] : [])].join(delimiter),
  IMAGO_RUN: JSON.stringify({ name, heard }),
})

/** Why a process of this command would not listen, where that can be seen from its words. */
export function deaf(command: readonly string[]): string | undefined {
  const { option, why, mend } = deafPython(command) ?? {}
  return option && `${command[0]} ${option} ${why}, so this Python will not listen. ${mend}`
}

/** Why a process that this command has started does not listen, where that can be seen from what it was started with. */
export function silent(
  { words, env: read }: Started,
  command: readonly string[],
): Pick<SilentProcess, 'why' | 'mend'> | undefined {
  if (!isPython(words[0])) return undefined
  const deaf = deafPython(words)
  if (deaf !== undefined)
    return { why: `was started with ${deaf.option}, which ${deaf.why}`, mend: deaf.mend }
  const env = read()
  if (env === undefined) return undefined
  if (env.IMAGO_RUN === undefined)
    return {
      why: 'was started without the environment of imago run, as env -i does it',
      mend: 'Let it keep PYTHONPATH and all that begins with IMAGO_ or XDG_.',
    }
  const own = command.findIndex(isPython)
  const launcher = own > 0 ? command.slice(0, own) : [LAUNCHER]
  const works = [...launcher, 'imago run --', ...(own > 0 ? command.slice(own) : words)].join(' ')
  const behind = oneLine(works).slice(0, MOST_WORDS)
  const path = (env.PYTHONPATH ?? '').split(delimiter)
  const before = path.indexOf(RUN_FOLDER)
  if (before < 0)
    return {
      why: 'was started with a PYTHONPATH that the command has set',
      mend: `Put imago run behind that: ${behind}`,
    }
  const others = path.slice(0, before).map(folder => join(folder, 'sitecustomize.py'))
  const other = others.find(file => existsSync(file))
  if (other === undefined) return undefined
  return {
    why: `was started with another sitecustomize before that of Imago, ${oneLine(other)}`,
    mend: `Put imago run behind what does that: ${behind}`,
  }
}
