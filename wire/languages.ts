/**
 * The languages whose programs Imago looks into, as every layer knows them. What a layer alone knows of one stands in a
 * table of that layer: `wire/kernels/languages.ts` (how it is started and joined), `tools/languages.ts` (its words),
 * `src/kernels/servers.ts` (what is said of its server), `src/front/languages.ts` (how it is typed, checked and
 * installed) and `src/terminal/languages.ts` (its colours). Besides them only its adapter and the names of settings in
 * `src/config.ts` and `src/policy/file.ts` name one: `test/languages.test.ts` sees to it.
 */
export interface Language {
  /** As kernels, commands and the wire spell it. */
  readonly name: string
  /** For people. */
  readonly title: string
  /** How names of files end by which a folder is one of this language. */
  readonly files: readonly string[]
  /** What programs of this language listen by instead of ours. */
  readonly server?: LanguageServer
  /** Whether the language's own installer takes the folder of our far end (`imago runtime`). */
  readonly installed: boolean
  /** A free engine that `imago install` brings, where the language needs one. */
  readonly engine?: FreeEngine
  /** Code that prints one line of JSON about the interpreter, and changes nothing. */
  readonly probe: string
}

export interface LanguageServer {
  /** As its addresses begin: `SCHEME://HOST:PORT`. */
  readonly scheme: string
  /** For people. */
  readonly title: string
  /** Where it listens unless it is told another port. */
  readonly port: number
  /**
   * Whether it knows its users by a secret. One that asks nobody who they are is only joined on this machine, whatever a
   * person insists on.
   */
  readonly secret: boolean
}

/** What is put into a Python environment of its own: it may be under another licence, and is no part of Imago. */
export interface FreeEngine {
  /** For people: what it is, and how much of the disk it takes. */
  readonly about: string
  /** The folder of its environment, in that of Imago's state. */
  readonly folder: string
  /** The oldest Python that it runs on. */
  readonly oldest: readonly [major: number, minor: number]
}

/** What a Python for an engine, or for its host, may be called. `python3` comes late: it may be newer than what an engine runs on. */
export const ENGINE_PYTHONS = ['python3.13', 'python3.12', 'python3.11', 'python3.14', 'python3', 'python']

/** An engine that was installed without us, and what it is spoken to by. */
export interface InstalledEngine {
  readonly kernel: string
  readonly library: string
  /** The Python of our host. */
  readonly python: string
}

const PYTHON: Language = {
  name: 'python',
  title: 'Python',
  files: ['.py', '.ipynb', 'pyproject.toml', 'requirements.txt', '.venv'],
  installed: true,
  probe: `
import importlib.metadata, json, sys
def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
def _another():
    try:
        found = importlib.metadata.metadata('imago')
    except importlib.metadata.PackageNotFoundError:
        return None
    return None if 'The far end of Imago' in (found['Summary'] or '') else found['Version']
print(json.dumps({
    'executable': sys.executable,
    'environment': sys.prefix != sys.base_prefix,
    'packages': {name: _version(name) for name in ('imago-agent', 'msgpack')},
    'another_imago': _another(),
}))
`,
}

const LISP: Language = {
  name: 'lisp',
  title: 'Common Lisp',
  files: ['.asd', '.lisp', '.lsp'],
  server: { scheme: 'swank', title: 'Swank server', port: 4005, secret: true },
  installed: false,
  probe: `
(format t "{\\"executable\\": ~S, \\"swank\\": ~S, \\"version\\": ~S}~%"
        (namestring #+sbcl sb-ext:*runtime-pathname* #+ecl (ext:argv 0))
        (namestring (symbol-value (find-symbol "*SOURCE-DIRECTORY*" "SWANK-LOADER")))
        swank::*swank-wire-protocol-version*)
`,
}

const WOLFRAM: Language = {
  name: 'wolfram',
  title: 'Wolfram Language',
  files: ['.wl', '.wls', '.m', '.nb'],
  server: { scheme: 'wstp', title: 'wstpserver', port: 31415, secret: false },
  installed: false,
  engine: {
    about:
      'Mathics3 10.0.1, a free interpreter of Wolfram Language (GPL) for where no Wolfram Engine is installed, with what it ' +
      'needs: about 400 MB',
    folder: 'mathics',
    oldest: [3, 11],
  },
  probe: 'Print["{\\"version\\": \\"", $VersionNumber, "\\"}"]',
}

/** The language of a kernel that nobody has chosen one for. */
export const DEFAULT_LANGUAGE = PYTHON

export const LANGUAGES: readonly Language[] = [PYTHON, LISP, WOLFRAM]

export const languageNamed = (name: string): Language | undefined =>
  LANGUAGES.find(language => language.name === name)

/** What is spoken at an address, as far as the address tells. */
export const languageAt = (address: string): Language =>
  LANGUAGES.find(({ server }) => server && address.startsWith(`${server.scheme}:`)) ?? DEFAULT_LANGUAGE

export const SERVERS: readonly LanguageServer[] = LANGUAGES.flatMap(({ server }) => server ?? [])

/** The Python of the environment that `imago install` makes, in the folder of Imago's state. */
export const pythonOfEngine = ({ folder }: FreeEngine, state: string): string =>
  `${state}/${folder}/bin/python`

/** The names of all, or of those that something is true of, as a usage line has them. */
export const namesOf = (which: (language: Language) => boolean = () => true): readonly string[] =>
  LANGUAGES.filter(which).map(({ name }) => name)
