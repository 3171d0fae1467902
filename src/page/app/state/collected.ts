import { signal } from '@preact/signals'
import { isClientError } from '../../../client/client.js'
import { read } from './service.js'

/** An operation in the batch. */
export interface Collected {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly collection: string
  /** For a new document, its future `_id`, so that others can refer to it. */
  readonly id: string | undefined
  readonly ifMatch?: string
  readonly body?: { readonly [name: string]: unknown }
}

/** The operations of the batch, which take effect in one step or not at all. */
export const collected = signal<readonly Collected[]>([])

/** An operation in the form of `POST /_batch`. */
const toOperation = ({ method, collection, id, ifMatch, body }: Collected): object => ({
  method,
  path: `/${encodeURIComponent(collection)}${id === undefined ? '' : `/${id}`}`,
  ...(method === 'PUT' ? { ifNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { ifMatch }),
  ...(body ? { body } : {}),
})

/** Runs the batch. Throws `ClientError`, whose `operation` is the one that was rejected. */
export async function doTogether(operations: readonly Collected[]): Promise<void> {
  await read('/_batch', { body: { operations: operations.map(toOperation) } })
}

/**
 * Checks whether the last of `operations` would be allowed after the others, without running them: the batch ends with
 * a read of a document that cannot exist, because `-` is not an `_id`, so it is rejected as a whole. Returns the error
 * of the last operation, if any.
 */
export async function rehearse(operations: readonly Collected[], signal: AbortSignal): Promise<unknown> {
  const [first] = operations
  if (!first) return undefined
  const last = { method: 'GET', path: `/${encodeURIComponent(first.collection)}/-` }
  try {
    const body = { operations: [...operations.map(toOperation), last] }
    await read('/_batch', { body, signal, isQuiet: true, note: 'is this allowed? (dry run)' })
  } catch (thrown) {
    return isClientError(thrown) && thrown.operation === operations.length - 1 ? thrown : undefined
  }
  return undefined
}
