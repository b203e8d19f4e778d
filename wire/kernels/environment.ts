/**
 * Words that mark a variable as a secret, when they stand between underscores (or dots, or dashes) of its name.
 * `SSH_AUTH_SOCK`, `KEYBOARD_LAYOUT` and `PWD` are none.
 */
const SECRET_WORDS = new Set([
  'APIKEY',
  'COOKIE',
  'CREDENTIAL',
  'CREDENTIALS',
  'CREDS',
  'KEY',
  'KEYS',
  'PASS',
  'PASSPHRASE',
  'PASSWD',
  'PASSWORD',
  'PASSWORDS',
  'PAT',
  'PGPASSWORD',
  'SECRET',
  'SECRETS',
  'TOKEN',
  'TOKENS',
])

/**
 * What of a caller's environment an owned kernel is given: everything except what is named like a secret, and except
 * Imago's own variables. `pass` lists names that a person wants to get through all the same; Imago's own never do.
 */
export function kernelEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  pass: readonly string[] = [],
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || /^IMAGO_/i.test(name)) continue
    if (pass.includes(name) || !looksSecret(name)) kept[name] = value
  }
  return kept
}

function looksSecret(name: string): boolean {
  return name
    .toUpperCase()
    .split(/[_.-]/)
    .some(word => SECRET_WORDS.has(word))
}
