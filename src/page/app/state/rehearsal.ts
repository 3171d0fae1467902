import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Collected, collected, rehearse } from './collected.js'
import { explain, hasCode } from './problem.js'

/** The pause in typing before the check. */
const PAUSE = 500

/**
 * Checks an operation while it is being written, so that the form can disable a button that would be rejected. Returns
 * the reason for the rejection; `undefined` if the operation is allowed, or unknown, or `operation` is `undefined`.
 */
export function useRehearsal(operation: Collected | undefined): string | undefined {
  const refusal = useSignal<string | undefined>(undefined)
  const key = JSON.stringify(operation)
  useEffect(() => {
    refusal.value = undefined
    if (!operation) return
    const ending = new AbortController()
    const ask = async (): Promise<void> => {
      // Checked after the operations that are in the batch, as it would run.
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

/** An `_id` for a new document, so that others can refer to it before it is stored. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
