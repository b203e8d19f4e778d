import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findInstallation } from '../../wire/kernels/wolfram-installation.ts'
import { assert, suite } from '../support/harness.ts'

/** Which of several installations is taken; those here are empty files. */
const test = suite('wolfram installations')

const system = `${platform() === 'darwin' ? 'MacOSX' : 'Linux'}-${arch() === 'arm64' ? 'ARM64' : 'x86-64'}`
let folder = ''

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-wolfram-')))
})
test.after.each(() => rmSync(folder, { recursive: true, force: true }))

function made(name: string, { library = true } = {}): string {
  const root = join(folder, name)
  file(join(root, 'Executables/WolframKernel'))
  if (library)
    file(join(root, `SystemFiles/Links/WSTP/DeveloperKit/${system}/CompilerAdditions/libWSTP64i4.so`))
  return root
}

function file(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, '', { mode: 0o755 })
}

const usual = () => [join(folder, 'WolframEngine'), join(folder, 'none')]

test('of those in the usual folders the newest is taken, by its version as a number', () => {
  for (const version of ['14.9', '14.10', '13.3']) made(`WolframEngine/${version}`)
  const found = findInstallation({ env: {}, usual: usual() })
  assert.equal([found?.folder, found?.chosen], [join(folder, 'WolframEngine/14.10'), false])
})

test('one without its library is taken only where no other is whole', () => {
  made('WolframEngine/14.2', { library: false })
  assert.is(findInstallation({ env: {}, usual: usual() })?.library, undefined)
  const whole = made('WolframEngine/13.3')
  assert.is(findInstallation({ env: {}, usual: usual() })?.folder, whole)
})

test('one that a program in PATH belongs to comes before the usual ones, and one that a variable names before all', () => {
  made('WolframEngine/14.2')
  const around = made('elsewhere')
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(around, 'Executables/WolframKernel'), join(folder, 'bin/wolfram'))
  const env = { PATH: join(folder, 'bin') }
  assert.is(findInstallation({ env, usual: usual() })?.folder, around)
  const named = made('named')
  const chosen = findInstallation({ env: { ...env, WOLFRAM_INSTALLATION_DIRECTORY: named }, usual: usual() })
  assert.equal([chosen?.folder, chosen?.chosen], [named, true])
})

test('where there is none, none is found; one that a variable names and that is not there is still the one', () => {
  assert.is(findInstallation({ env: {}, usual: usual() }), undefined)
  made('WolframEngine/14.2')
  const missing = findInstallation({
    env: { WOLFRAM_INSTALLATION_DIRECTORY: join(folder, 'gone') },
    usual: usual(),
  })
  assert.equal([missing?.kernel, missing?.chosen], [undefined, true])
})
