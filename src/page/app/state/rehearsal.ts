import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Collected, collected, rehearse } from './collected.js'
import { explain, hasCode } from './problem.js'

/** How long one writes before it is asked. */
const PAUSE = 500

/**
 * Why an operation would not be allowed, asked while it is written: so nobody presses a button that leads to a
 * refusal. `undefined` where it would be, or nobody can say; `operation` is `undefined` where there is nothing to ask.
 */
export function useRehearsal(operation: Collected | undefined): string | undefined {
  const refusal = useSignal<string | undefined>(undefined)
  const key = JSON.stringify(operation)
  useEffect(() => {
    refusal.value = undefined
    if (!operation) return
    const ending = new AbortController()
    const ask = async (): Promise<void> => {
      // Over what was collected so far, as it would be then.
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

/** A name for a new document, which others can refer to before it is stored. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
