import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** CPythons that a machine seldom has. Debian's newest suite has them; which packages they need, its index says. */
const NEWER_PYTHONS = ['python3.14', 'python3.15']
const PACKAGES = [...NEWER_PYTHONS, 'python3.15-venv']
const ATTEMPTS = 3

/**
 * Unpacks the newer CPythons with the C library they need into `folder/pythons`; nothing is installed, and no other file
 * is touched. Does nothing where they run already, there or from the PATH. `run` and `installDebian` are of setup.mjs.
 */
export function installPythons(folder, { run, installDebian }) {
  const at = join(folder, 'pythons')
  const stamp = join(at, 'packages.txt')
  const unpacked = name => join(at, 'root/usr/bin', name)
  const have = existsSync(stamp) && readFileSync(stamp, 'utf8') === PACKAGES.join()
  if (NEWER_PYTHONS.every(name => (have && run(unpacked(name), ['-c', '']).ok) || run(name, ['-c', '']).ok))
    return
  const began = Date.now()
  console.log(
    `test set-up: unpacking ${NEWER_PYTHONS.join(' and ')} of Debian's newest suite into .test-runtimes/pythons`,
  )
  if (!run('patchelf', ['--version']).ok) installDebian('patchelf', 'there is no patchelf')
  const { root, archives } = download(at, run)
  for (const name of readdirSync(archives).filter(name => name.endsWith('.deb')))
    must(run('dpkg', ['-x', join(archives, name), root]), `${name} could not be unpacked`)
  relocate(root, run)
  for (const name of NEWER_PYTHONS)
    must(run(unpacked(name), ['-c', 'import ctypes, sqlite3, ssl']), `the unpacked ${name} does not run`)
  for (const name of ['lists', 'cache']) rmSync(join(at, name), { recursive: true })
  writeFileSync(stamp, PACKAGES.join())
  console.log(`test set-up: the newer Pythons took ${Math.round((Date.now() - began) / 1000)} s`)
}

/** From the mirror that this machine uses, with all that they depend on: for apt, none of it is installed yet. */
function download(at, run) {
  rmSync(at, { recursive: true, force: true })
  for (const name of ['lists/partial', 'cache/archives/partial', 'root'])
    mkdirSync(join(at, name), { recursive: true })
  const here = realpathSync(at)
  const mirrors = run('apt-get', ['indextargets', '--format', '$(REPO_URI)'])
  const [mirror] = mirrors.text.match(/http\S+\/debian\/?$/m) ?? []
  if (mirror === undefined)
    throw new Error(
      `there is no ${NEWER_PYTHONS.join(' or ')}, and apt knows no mirror of Debian that has them`,
    )
  writeFileSync(join(here, 'sources.list'), `deb ${mirror} sid main\n`)
  writeFileSync(join(here, 'status'), '')
  const places = [
    `Dir::Etc::sourcelist=${here}/sources.list`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::Lists=${here}/lists`,
    `Dir::State::status=${here}/status`,
    `Dir::Cache=${here}/cache`,
    'Debug::NoLocking=1',
  ]
  const options = ['-qq', ...places.flatMap(place => ['-o', place])]
  const wanted = ['-y', '--download-only', '--no-install-recommends', 'install', ...PACKAGES]
  for (let attempt = 1; ; attempt++) {
    const updated = run('apt-get', [...options, 'update'])
    const got = updated.ok ? run('apt-get', [...options, ...wanted]) : updated
    if (got.ok) break
    const problem = `${NEWER_PYTHONS.join(' and ')} could not be downloaded from ${mirror}: ${got.lastLine}`
    if (attempt === ATTEMPTS) throw new Error(problem)
    console.log(`test set-up: ${problem}; trying again`)
  }
  return { root: join(here, 'root'), archives: join(here, 'cache/archives') }
}

/** They were made to lie in `/`: their loader, their libraries and the wheels of ensurepip. */
function relocate(root, run) {
  const libraries = readdirSync(join(root, 'usr/lib')).find(name => name.endsWith('-linux-gnu'))
  for (const name of NEWER_PYTHONS) {
    const python = join(root, 'usr/bin', name)
    const loader = join(root, 'usr', run('patchelf', ['--print-interpreter', python]).lastSaid)
    const paths = ['--force-rpath', '--set-rpath', join(root, 'usr/lib', libraries)]
    must(run('patchelf', ['--set-interpreter', loader, ...paths, python]), `${name} could not be relocated`)
    const library = join(root, 'usr/lib', name)
    for (const file of readdirSync(library).filter(one => one.startsWith('_sysconfig'))) {
      const path = join(library, file)
      // In quotes: one of these files is a link to another, and is written twice.
      const wheels = readFileSync(path, 'utf8').replace(/(?<=["'])\/usr\/share\/python-wheels/, `${root}$&`)
      writeFileSync(path, wheels)
    }
  }
}

function must(done, problem) {
  if (!done.ok) throw new Error(`${problem}: ${done.lastLine}`)
}
