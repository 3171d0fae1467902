import { isObject } from '../../../core/json/own-properties.js'
import type { RecordedOperation } from './recorder.js'
import type { ExplainedRun } from './run-request.js'

/** A recorded operation, and its target. */
export interface ExplainedOperation {
  readonly operation: RecordedOperation
  /** The position in a batch, as a JSON pointer into the body; otherwise empty. */
  readonly place: string
  readonly method: string
  /** The document that the path names; `null` if it names none. */
  readonly id: string | null
}

/** Returns the operations of a request in their order. Only a batch has several. */
export function placesOf({ request, operations }: ExplainedRun): readonly ExplainedOperation[] {
  const { method, path, body } = request
  if (!isBatch(path)) {
    const [operation] = operations
    return operation ? [{ operation, place: '', method, id: readId(path, operation) }] : []
  }
  const asked = readOperations(body)
  return operations.flatMap((operation, i): ExplainedOperation[] => {
    const one = asked[i]
    if (!isObject(one)) return []
    const id = readId(String(one.path), operation)
    return [{ operation, place: `/operations/${i}`, method: String(one.method), id }]
  })
}

const withoutQuery = (path: string): string => path.replace(/[?#].*$/s, '').replace(/\/$/, '')

const isBatch = (path: string): boolean => withoutQuery(path) === '/_batch'

/** Names of routes that can be in a path at the position of an id. */
const NO_IDS: readonly string[] = ['aggregate', 'bulk', 'count', 'changes']

function readId(path: string, { collection }: RecordedOperation): string | null {
  const [, first = '', second, ...rest] = withoutQuery(path).split('/').map(decode)
  if (first !== collection.name || second === undefined || rest.length > 0) return null
  return NO_IDS.includes(second) ? null : second
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns the operations in a batch; none if the body is not a valid batch, which the service rejects. */
function readOperations(body: unknown): readonly unknown[] {
  const value = typeof body === 'string' ? parse(body) : body
  return isObject(value) && Array.isArray(value.operations) ? value.operations : []
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
