import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { Differs, out, PATIENCE_MS, STEP_MS } from './steps.ts'

export interface Site {
  readonly port: number
  close(): Promise<void>
}

/** A Python program under `imago run` in this folder, which serves at a port of its own. */
export async function openSite(
  project: string,
  python: string,
  words: (port: number) => readonly string[],
): Promise<Site> {
  const port = await freePort()
  return { port, close: runs(project, python, words(port)).close }
}

/** A Python program under `imago run` in this folder. */
export function runs(project: string, python: string, words: readonly string[]) {
  out(`$ imago run -- python ${words.join(' ')}\n`)
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  const child = spawn(process.execPath, [main, 'run', '--', python, ...words], {
    cwd: project,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  return {
    ended,
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Asks until it is answered so, as somebody does who reloads a page; what was answered then. */
export async function visits(
  { port }: Site,
  path: string,
  expected: 200 | 404 | 500 | 'nobody',
): Promise<string> {
  for (let waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
    const { status, body } = await answerOf(port, path)
    if (status === expected) {
      const said = {
        200: `200 ${body}`,
        404: `404 ${body}`,
        500: '500 Internal Server Error',
        nobody: 'nobody answers',
      }[status]
      out(`\n$ curl http://127.0.0.1:${port}${path}\n${said}\n`)
      return body
    }
    await sleep(STEP_MS)
  }
  throw new Differs(`${path} was never answered with ${expected}`)
}

interface Answer {
  readonly status: number | 'nobody' | undefined
  readonly body: string
}

function answerOf(port: number, path: string): Promise<Answer> {
  return new Promise(resolve => {
    const request = get({ port, path, host: '127.0.0.1', agent: false }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode, body }))
      response.on('error', () => resolve({ status: undefined, body }))
    })
    request.on('error', () => resolve({ status: 'nobody', body: '' }))
  })
}

/** A port that nobody has at this moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
