import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { inPath, isProgram } from './process.ts'

/** A Wolfram Engine, a Wolfram or a Mathematica. It can be used if nothing is missing. */
export interface Installation {
  /** Its `$InstallationDirectory`. */
  readonly folder: string
  readonly kernel: string | undefined
  readonly library: string | undefined
  /** Whether a person has named it. Nothing else is then tried. */
  readonly chosen: boolean
}

export type WholeInstallation = Installation & { readonly kernel: string; readonly library: string }

export const isWhole = (one: Installation): one is WholeInstallation =>
  one.kernel !== undefined && one.library !== undefined

/** Why it cannot be used, as the end of a sentence about it. */
export const lackOf = ({ kernel }: Installation): string =>
  kernel === undefined ? 'holds no WolframKernel' : `holds no WSTP library for this machine (${SYSTEM})`

/** Where installations are looked for. */
export interface InstallationSearch {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folders that hold installations, each in a folder of its version; left out: the usual ones of this system. */
  readonly usual?: readonly string[]
}

/** Variables that name an installation. Wolfram's client for Python reads the first, `wolframscript` the second. */
const VARIABLES = ['WOLFRAM_INSTALLATION_DIRECTORY', 'WOLFRAMSCRIPT_KERNELPATH']

/** Programs that lie in an installation, or are links into one. */
const PROGRAMS = ['WolframKernel', 'wolfram', 'wolframscript', 'math']

const KERNELS = ['Executables/WolframKernel', 'MacOS/WolframKernel', 'Executables/wolfram', 'MacOS/wolfram']

/** The name of this system in an installation, as `$SystemID` has it. */
const SYSTEM = `${platform() === 'darwin' ? 'MacOSX' : 'Linux'}-${arch() === 'arm64' ? 'ARM64' : 'x86-64'}`

const LIBRARY_FOLDERS = [
  `SystemFiles/Links/WSTP/DeveloperKit/${SYSTEM}/CompilerAdditions`,
  `SystemFiles/Libraries/${SYSTEM}`,
]

const PRODUCTS = ['WolframEngine', 'Wolfram', 'Mathematica', 'Desktop']
const APPLICATIONS = ['Wolfram Engine', 'Wolfram', 'Mathematica', 'Wolfram Desktop']

/**
 * The installation to be used: the one that a variable names, the one that a program in `PATH` belongs to, the newest in
 * the usual places. One without the library is returned only if none is complete.
 */
export function findInstallation(search: InstallationSearch): Installation | undefined {
  for (const name of VARIABLES) {
    const wanted = search.env[name]
    if (!wanted) continue
    return installationOf(wanted) ?? { folder: wanted, kernel: undefined, library: undefined, chosen: true }
  }
  const found = [...placesOf(search)].map(folder => installationAt(folder)).filter(one => one !== undefined)
  return found.find(isWhole) ?? found[0]
}

/** The installation that a path names: its folder, its kernel, or the folder of its application. */
export function installationOf(path: string): Installation | undefined {
  const at = installationAt(path) ?? installationAt(join(path, 'Contents'))
  if (at !== undefined) return { ...at, chosen: true }
  const around = isProgram(path) ? installationAround(path) : undefined
  if (around === undefined) return undefined
  const kernel = /^(WolframKernel|MathKernel|wolfram)$/.test(basename(path)) ? path : around.kernel
  return { ...around, kernel, chosen: true }
}

/** For people: `14.1.0`, or the folder if its version is unknown. */
export function versionOf({ folder }: Installation): string {
  try {
    return readFileSync(join(folder, '.VersionID'), 'utf8').trim().slice(0, 20) || folder
  } catch {
    return folder
  }
}

function* placesOf({ env, usual = usualPlaces() }: InstallationSearch): Generator<string> {
  const known = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
  for (const name of PROGRAMS) {
    const program = inPath(name, known as Record<string, string>).find(isProgram)
    const around = program && installationAround(program)
    if (around) yield around.folder
  }
  const versions = usual.flatMap(folder =>
    subfolders(folder).map(name => ({ name, path: join(folder, name) })),
  )
  versions.sort((one, other) => newerFirst(one.name, other.name))
  for (const { path } of versions) yield path
  if (platform() === 'darwin') for (const name of APPLICATIONS) yield `/Applications/${name}.app/Contents`
}

const usualPlaces = () =>
  platform() === 'darwin'
    ? []
    : ['/usr/local/Wolfram', '/opt/Wolfram'].flatMap(folder => PRODUCTS.map(name => join(folder, name)))

/** `14.10` comes before `14.9`; what is no version comes last. */
function newerFirst(one: string, other: string): number {
  const [these, those] = [one, other].map(name => (/^[\d.]+$/.test(name) ? name : '0').split('.').map(Number))
  for (let at = 0; at < 4; at++) {
    const difference = (those?.[at] ?? 0) - (these?.[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The installation that a program lies in, once links are followed. */
function installationAround(program: string): Installation | undefined {
  let folder = dirname(realpathSync(program))
  for (let level = 0; level < 6; level++, folder = dirname(folder)) {
    const found = installationAt(folder)
    if (found !== undefined) return found
  }
  return undefined
}

function installationAt(folder: string): Installation | undefined {
  const kernel = KERNELS.map(path => join(folder, path)).find(isProgram)
  return kernel === undefined ? undefined : { folder, kernel, library: libraryIn(folder), chosen: false }
}

/** The library of the newest interface: `libWSTP64i4.so` on Linux, a framework on a Mac. */
function libraryIn(folder: string): string | undefined {
  for (const place of LIBRARY_FOLDERS.map(path => join(folder, path))) {
    const framework = join(place, 'wstp.framework/wstp')
    if (existsSync(framework)) return framework
    const [newest] = filesIn(place)
      .filter(name => /^libWSTP64i\d+\.so$/.test(name))
      .sort()
      .reverse()
    if (newest !== undefined) return join(place, newest)
  }
  return undefined
}

const filesIn = (folder: string) => entriesOf(folder, one => one.isFile() || one.isSymbolicLink())

const subfolders = (folder: string) =>
  entriesOf(folder, one => one.isDirectory() || one.isSymbolicLink()).filter(name =>
    statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory(),
  )

function entriesOf(folder: string, fits: (entry: Entry) => boolean): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(fits)
      .map(({ name }) => name)
  } catch {
    // A folder that is not there, or cannot be read, holds no installation.
    return []
  }
}

interface Entry {
  isFile(): boolean
  isDirectory(): boolean
  isSymbolicLink(): boolean
}
