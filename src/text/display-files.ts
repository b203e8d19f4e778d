import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Displayed, DisplayedFile } from '../../tools/contract.ts'
import { readBounded } from '../../wire/bounded-file.ts'
import type { Display } from '../../wire/kernel.ts'

/** How many files of displays are kept, and how many bytes in all; the oldest go first, whosever they are. */
const MOST_FILES = 128

const MOST_BYTES = 64 * 1024 * 1024

/** Of this process, so that no two files have one name. */
let made = 0

/** Pictures and pages that code has displayed to a project, as files of the user's. They outlive the daemon. */
export interface DisplayFiles {
  /** The path of a new file; undefined where none could be written. */
  keep(bytes: Uint8Array, ending: 'png' | 'html'): string | undefined
  /** What a path of `keep` holds; undefined for every other path, for one of another project, and for what has made room. */
  read(path: string): Uint8Array | undefined
}

interface DisplayFilesOptions {
  /** A directory of the daemon; files are made in `displays` below it. */
  readonly stateDir: string
  readonly log: (message: string, error: unknown) => void
}

const NAME = /^\d{8}T\d{9}-\d+-\d+\.(?:png|html)$/

/** Those of each project. */
export function openDisplayFiles({ stateDir, log }: DisplayFilesOptions): (root: string) => DisplayFiles {
  const directory = join(stateDir, 'displays')
  /** Bytes by name, the oldest first; known once there is something to keep. */
  let files: Map<string, number> | undefined
  /** Projects by name, of what this daemon has kept. */
  const roots = new Map<string, string>()

  /** What earlier daemons have left. Names begin with the time, so that their order is that of making. */
  function found(): Map<string, number> {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const names = readdirSync(directory)
      .filter(name => NAME.test(name))
      .sort()
    return new Map(names.map(name => [name, statSync(join(directory, name)).size]))
  }

  function makeRoom(kept: Map<string, number>): void {
    let bytes = 0
    for (const size of kept.values()) bytes += size
    for (const [name, size] of kept) {
      if (kept.size <= 1 || (kept.size <= MOST_FILES && bytes <= MOST_BYTES)) return
      bytes -= size
      kept.delete(name)
      roots.delete(name)
      rmSync(join(directory, name), { force: true })
    }
  }

  return root => ({
    keep(bytes, ending) {
      const time = new Date().toISOString().replace(/[-:.Z]/g, '')
      const name = `${time}-${process.pid}-${++made}.${ending}`
      const path = join(directory, name)
      try {
        files ??= found()
        writeFileSync(path, bytes, { flag: 'wx', mode: 0o600 })
        files.set(name, bytes.length)
        roots.set(name, root)
        makeRoom(files)
        return path
      } catch (error) {
        log('What was displayed could not be kept as a file.', error)
        return undefined
      }
    },
    read(path) {
      const name = path.slice(directory.length + 1)
      if (dirname(path) !== directory || roots.get(name) !== root) return undefined
      try {
        return readBounded(path, { most: MOST_BYTES })
      } catch {
        return undefined
      }
    },
  })
}

/** What was displayed, with a file for each form of it that is none of text. */
export function filed({ png, html, note, ...told }: Display, files: DisplayFiles): Displayed {
  const forms: DisplayedFile[] = []
  const keep = (
    bytes: Buffer,
    ending: 'png' | 'html',
    media_type: DisplayedFile['media_type'],
    size?: string,
  ) => {
    const path = files.keep(bytes, ending)
    if (path !== undefined)
      forms.push({ path, media_type, bytes: bytes.length, ...(size !== undefined && { size }) })
    return path !== undefined
  }
  const picture = png === undefined ? undefined : Buffer.from(png, 'base64')
  const areKept = [
    picture === undefined || keep(picture, 'png', 'image/png', pixels(picture)),
    html === undefined || keep(Buffer.from(html), 'html', 'text/html'),
  ]
  const lost = areKept.includes(false) ? 'It could not be written to a file.' : undefined
  const said = [note, lost].filter(one => one !== undefined).join(' ')
  return { ...told, ...(forms.length > 0 && { files: forms }), ...(said !== '' && { note: said }) }
}

/** As the header of a PNG has it. */
const pixels = (png: Buffer): string | undefined =>
  png.length < 24 ? undefined : `${png.readUInt32BE(16)} × ${png.readUInt32BE(20)}`
