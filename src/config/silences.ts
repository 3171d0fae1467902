import { isObject, readOwn } from '../json/own-properties.js'

/** What may follow a silence: the reason. */
const REASON = ' - '

/** The silences of a configuration, whose shape is valid. */
export function readSilences(config: unknown): readonly string[] {
  const written = isObject(config) ? readOwn(config, '$ignore') : undefined
  return Array.isArray(written) ? written.map(String) : []
}

/** Whether a silence is about what is found at a place. */
export const isSilencing = (silence: string, code: string, pointer: string): boolean => {
  const named = `${code} ${pointer}`
  return silence === named || silence.startsWith(named + REASON)
}
