import type { Answer } from './answer.js'

/** The parts of Node's response that an answer needs. */
export interface NodeResponse {
  writeHead(status: number, headers: Answer['headers']): unknown
  end(text?: string): unknown
}

/** Node's response, where Node calls the handler as a listener; `undefined` for a call with a `Request`. */
export function findNodeResponse(request: unknown, second: unknown): NodeResponse | undefined {
  const isWebRequest = hasMethods(readHeaders(request), 'get')
  return !isWebRequest && hasMethods<NodeResponse>(second, 'writeHead', 'end') ? second : undefined
}

/** The error for a host that passes Node's objects. */
export const calledByNode = (): TypeError =>
  new TypeError(
    "the handler takes a web-standard Request and was called with Node's request and response: use toNodeHandler(handler) of collection-service/node instead",
  )

/** The error for a host that passes anything else. */
export const calledWithout = (): TypeError =>
  new TypeError(
    'the handler takes a web-standard Request and was called with something else: in Hono, write handler(c.req.raw)',
  )

const isHolder = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null

const readHeaders = (request: unknown): unknown => (isHolder(request) ? request.headers : undefined)

const hasMethods = <T>(value: unknown, ...names: readonly (keyof T & string)[]): value is T =>
  isHolder(value) && names.every((name) => typeof value[name] === 'function')
