import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build, stop } from 'esbuild'

const folder = join(import.meta.dirname, '../../.test-runtimes/compiled')

/**
 * Makes one CommonJS file of a script of the tests and all that it loads, and returns its path. A process on it begins in
 * a third of the time, which counts where dozens are started to be killed.
 */
export async function inOneFile(script: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${createHash('sha256').update(script).digest('hex')}.cjs`)
  // Another run may load it at the same time.
  const whole = `${outfile}.${process.pid}`
  await build({
    entryPoints: [script],
    outfile: whole,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    mainFields: ['module', 'main'],
    // They look for files of their own beside them.
    external: ['pino', 'msgpackr', 'ws'],
    logLevel: 'warning',
    plugins: [
      {
        name: 'places',
        setup: ({ onLoad }) =>
          onLoad({ filter: /\.ts$/ }, ({ path }) => ({
            loader: 'ts',
            contents: readFileSync(path, 'utf8')
              .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
              .replaceAll('import.meta.filename', path === script ? '__filename' : JSON.stringify(path)),
          })),
      },
    ],
  })
  await stop()
  renameSync(whole, outfile)
  // By the name that it has for itself there.
  return realpathSync(outfile)
}
