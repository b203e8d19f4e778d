import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { Readable } from 'node:stream'

/**
 * `fetch` for the providers, which ask with texts. Node's own gives up where a server is silent for 300 s, as a local model is
 * that reads a long prompt; here the signal alone ends a request. A redirect is an answer: no key goes to another address.
 */
export const request: typeof fetch = (to, { method = 'GET', headers, body, signal } = {}) =>
  new Promise((resolve, reject) => {
    const url = new URL(to instanceof Request ? to.url : to)
    const send = url.protocol === 'https:' ? overHttps : overHttp
    const given = Object.fromEntries(new Headers(headers))
    const sent = send(url, { method, headers: given, ...(signal && { signal }) })
    // As `fetch` says it: the providers know by it that they were not answered.
    sent.on('error', cause => reject(signal?.aborted ? cause : new TypeError('fetch failed', { cause })))
    sent.on('response', response => {
      const { statusCode: status = 0, statusMessage: statusText = '' } = response
      const told = Object.entries(response.headers).map(([name, value]): [string, string] => [
        name,
        `${value}`,
      ])
      const stream = Readable.toWeb(response) as ReadableStream
      resolve(new Response(EMPTY.includes(status) ? null : stream, { status, statusText, headers: told }))
    })
    sent.end(body)
  })

const EMPTY = [204, 205, 304]
