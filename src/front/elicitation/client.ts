import { CLIENT_CAPABILITIES_META_KEY, type Server, type ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** The first revision that asks by answering a request, and not by a request of the server's. */
const MODERN = '2026-07-28'

/** Whether a connection speaks a revision in which the server makes no requests of its own. */
export function isModern(server: Server): boolean {
  return (server.getNegotiatedProtocolVersion() ?? '') >= MODERN
}

const CAPABILITIES = z.looseObject({
  elicitation: z.looseObject({ form: z.unknown(), url: z.unknown() }).partial().optional(),
})

/**
 * Whether the client says that it puts forms before a person: with each request in new revisions, once in older ones. It
 * means a form too where it names no mode, as the first revision had it.
 */
export function putsForms(o: { readonly context: ServerContext; readonly server: Server }): boolean {
  const envelope: Readonly<Record<string, unknown>> = o.context.mcpReq.envelope ?? {}
  const told = isModern(o.server) ? envelope[CLIENT_CAPABILITIES_META_KEY] : o.server.getClientCapabilities()
  const { elicitation } = CAPABILITIES.safeParse(told).data ?? {}
  if (elicitation === undefined) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}
