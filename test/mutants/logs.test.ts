import { expect, test } from 'vitest'
import type * as Loggers from '../../src/core/start/logger.js'
import type { Logger } from '../../src/index.js'
import { createCollectionService } from '../../src/index.js'
import { checkPino } from '../support/pino-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** What passes messages to the logger of the host, broken on purpose. */

type Pino = { readonly [level: string]: (details: object, message: string) => void }

const brokenLogger = (what: string, write: (host: Pino, level: string) => Logger['error']): Mutant => [
  what,
  '../../src/core/start/logger.js',
  async (original) => ({
    ...((await original()) as typeof Loggers),
    createLogger: (host: Partial<Logger> = {}): Logger => {
      const of = (level: string) => write(host as unknown as Pino, level)
      return { info: of('info'), warn: of('warn'), error: of('error') }
    },
  }),
]

const mutants: readonly Mutant[] = [
  brokenLogger('the message comes first', (host, level) => (message, details) => {
    ;(host as unknown as Logger)[level as keyof Logger](message, details)
  }),
  brokenLogger('an error keeps its name', (host, level) => (message, details = {}) => {
    host[level]?.(details, message)
  }),
  brokenLogger('details are left out', (host, level) => (message, { cause } = {}) => {
    host[level]?.({ err: cause }, message)
  }),
  brokenLogger(
    'only the message of an error is printed',
    (host, level) =>
      (message, { cause, ...details } = {}) => {
        host[level]?.({ ...details, err: String(cause) }, message)
      },
  ),
]

test('the library itself passes', () => checkPino(createCollectionService))

test.each(choose(mutants).map((one) => [one[0], one] as const))('%s: caught', async (_, mutant) => {
  expect(await fails(checkPino(await createMutant(mutant)))).toBe(true)
})
