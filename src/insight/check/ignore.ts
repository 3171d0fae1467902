import { isObject, readOwn } from '../../json/own-properties.js'
import type { Finding } from './finding.js'

/** What may follow a silence: the reason. */
const REASON = ' - '

/** The silences of a configuration, whose shape is valid. */
export function readSilences(config: unknown): readonly string[] {
  const written = isObject(config) ? readOwn(config, '$ignore') : undefined
  return Array.isArray(written) ? written.map(String) : []
}

/** Whether a silence is about a finding. */
export const isSilencing = (
  silence: string,
  { code, pointer }: Pick<Finding, 'code' | 'pointer'>,
): boolean => {
  const named = `${code} ${pointer}`
  return silence === named || silence.startsWith(named + REASON)
}
