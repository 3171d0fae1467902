import { signal } from '@preact/signals'
import { isClientError } from '../../../client/client.js'
import { read } from './service.js'

/** An operation that will be done together with others. */
export interface Collected {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly collection: string
  /** Of a new document, the `_id` that it will have; so others can refer to it. */
  readonly id: string | undefined
  readonly ifMatch?: string
  readonly body?: { readonly [name: string]: unknown }
}

/** What was collected, to take effect in one step or not at all. */
export const collected = signal<readonly Collected[]>([])

/** An operation as a batch has it. */
const toOperation = ({ method, collection, id, ifMatch, body }: Collected): object => ({
  method,
  path: `/${encodeURIComponent(collection)}${id === undefined ? '' : `/${id}`}`,
  ...(method === 'PUT' ? { ifNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { ifMatch }),
  ...(body ? { body } : {}),
})

/** Does all of them in one step. Throws `ClientError`, whose `operation` is the one that was refused. */
export async function doTogether(operations: readonly Collected[]): Promise<void> {
  await read('/_batch', { body: { operations: operations.map(toOperation) } })
}

/**
 * Asks whether the last of `operations` would be allowed behind the others, and does none: a batch that ends with a
 * document that cannot be there, for `-` is no `_id`, is refused as a whole. The error is the one of that operation.
 */
export async function rehearse(operations: readonly Collected[], signal: AbortSignal): Promise<unknown> {
  const [first] = operations
  if (!first) return undefined
  const last = { method: 'GET', path: `/${encodeURIComponent(first.collection)}/-` }
  try {
    const body = { operations: [...operations.map(toOperation), last] }
    await read('/_batch', { body, signal, isQuiet: true, note: 'would this be allowed? Nothing is done' })
  } catch (thrown) {
    return isClientError(thrown) && thrown.operation === operations.length - 1 ? thrown : undefined
  }
  return undefined
}
