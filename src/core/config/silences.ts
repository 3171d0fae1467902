import { isObject, readOwn } from '../json/own-properties.js'

/** The separator between a silence and its optional reason. */
const REASON = ' - '

/** Returns the silences (`$ignore`) of a configuration whose shape is valid. */
export function readSilences(config: unknown): readonly string[] {
  const written = isObject(config) ? readOwn(config, '$ignore') : undefined
  return Array.isArray(written) ? written.map(String) : []
}

/** Whether a silence covers a finding at a location. */
export const isSilencing = (silence: string, code: string, pointer: string): boolean => {
  const named = `${code} ${pointer}`
  return silence === named || silence.startsWith(named + REASON)
}
