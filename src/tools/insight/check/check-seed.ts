import { isSilencing, readSilences } from '../../../core/config/silences.js'
import { locatePointers } from '../../../core/json/json-text.js'
import { compileForInsight } from '../compile.js'
import type { InsightOptions } from '../options.js'
import { CODES } from './codes.js'
import type { Finding } from './finding.js'
import { findSeededSecrets } from './findings/production.js'

/**
 * Finds what makes a seed unfit for production: accounts, whose secrets everyone knows who reads the file (CONTRACT.md
 * §8, "Check"). The pointers are those of the seed, but `$ignore` of the configuration silences findings. Throws
 * `ConfigError` for an invalid configuration.
 *
 * @param seed the documents as a value, or as valid JSON text. Only for text, each finding has a line and a column.
 */
export function checkSeed(config: unknown, seed: unknown, options: InsightOptions = {}): readonly Finding[] {
  const code = 'seeded_secret'
  const text = typeof seed === 'string' ? seed.replace(/^\ufeff/, '') : undefined
  const locate = text === undefined ? () => ({}) : locatePointers(text)
  const silences = readSilences(config)
  return findSeededSecrets(compileForInsight(config, options), text === undefined ? seed : JSON.parse(text))
    .filter((pointer) => !silences.some((silence) => isSilencing(silence, code, pointer)))
    .map((pointer) => ({
      code,
      ...CODES[code],
      pointer,
      message: 'everyone who reads this file can sign in as this account',
      ...locate(pointer),
    }))
}
