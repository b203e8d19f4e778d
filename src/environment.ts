type Environment = Readonly<Record<string, string | undefined>>

/** What a daemon reads itself, and what a program needs to find its own things. */
const USUAL = new Set(
  `PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP VIRTUAL_ENV CONDA_PREFIX
   LD_LIBRARY_PATH DYLD_LIBRARY_PATH`.split(/\s+/),
)
/** The key of a program is for the command that it was given to. */
const USUAL_FAMILIES = /^(IMAGO_(?!KEY$)|XDG_|LC_|NODE_)/

/** The daemon outlives the command that starts it, so it takes no secret of that one's environment along. */
export function daemonEnvironment(env: Environment): Record<string, string> {
  return pick(env, name => USUAL.has(name) || USUAL_FAMILIES.test(name))
}

/** A hello has room for so many bytes. What is longer is mostly functions of a shell, and no kernel misses them. */
const VALUE_BYTES = 16 * 1024
const TOTAL_BYTES = 128 * 1024

/** A client's environment as its hello carries it; the usual names come first. What a kernel gets is decided later. */
export function helloEnvironment(env: Environment): Record<string, string> {
  let left = TOTAL_BYTES
  return pick({ ...daemonEnvironment(env), ...env }, (name, value) => {
    if (name === 'IMAGO_KEY') return false
    const size = Buffer.byteLength(name) + Buffer.byteLength(value)
    if (size > VALUE_BYTES || size > left) return false
    left -= size
    return true
  })
}

function pick(env: Environment, keep: (name: string, value: string) => boolean): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && keep(name, value)) kept[name] = value
  return kept
}
