import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { isClientError } from '../../../../client/client.js'
import { explain, hasCode } from './problem.js'
import { read } from './service.js'

/** The milliseconds without typing after which the check begins. */
const PAUSE = 500

/**
 * While a person fills in a form, checks whether its operation would be allowed, so that the form can disable its
 * button. Returns the reason for a rejection; `undefined` if the operation is allowed, not checked yet, or missing.
 */
export function useRehearsal(operation: Collected | undefined): string | undefined {
  const refusal = useSignal<string | undefined>(undefined)
  const key = JSON.stringify(operation)
  useEffect(() => {
    refusal.value = undefined
    if (!operation) return
    const ending = new AbortController()
    const ask = async (): Promise<void> => {
      // The operation is checked after those that are already in the batch, because it would run after them.
      const thrown = await rehearse([...collected.peek(), operation], ending.signal)
      if (!ending.signal.aborted && hasCode(thrown, 'forbidden')) refusal.value = explain(thrown)
    }
    const timer = setTimeout(() => void ask(), PAUSE)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [key])
  return refusal.value
}

/** Creates an `_id` for a new document (a random UUID), so that other documents can refer to it before it is stored. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** An operation in the batch. */
export interface Collected {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly collection: string
  /** The `_id` of the document. A new document has one too, so that other documents can refer to it. */
  readonly id: string | undefined
  readonly ifMatch?: string
  readonly body?: { readonly [name: string]: unknown }
}

/** The operations of the batch. They take effect in one step, or none of them does. */
export const collected = signal<readonly Collected[]>([])

/** Converts an operation to the form of `POST /_batch`. */
const toOperation = ({ method, collection, id, ifMatch, body }: Collected): object => ({
  method,
  path: `/${encodeURIComponent(collection)}${id === undefined ? '' : `/${id}`}`,
  ...(method === 'PUT' ? { ifNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { ifMatch }),
  ...(body ? { body } : {}),
})

/** Runs the batch. Throws `ClientError`, whose `operation` is the index of the rejected operation. */
export async function doTogether(operations: readonly Collected[]): Promise<void> {
  await read('/_batch', { body: { operations: operations.map(toOperation) } })
}

/**
 * Checks whether the last of `operations` would be allowed after the others. Nothing takes effect, because the batch
 * also reads the document `-`, which never exists, so the service rejects the whole batch. Returns the error for the
 * last of `operations`, if there is one.
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
