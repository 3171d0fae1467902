import pino from 'pino'
import { expect } from 'vitest'
import { type createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { replaceMethods } from './stored.js'

const config = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
} as const

/** A pino, and what it has printed. */
export function createPino(options: pino.LoggerOptions = {}) {
  const lines: { readonly [name: string]: unknown }[] = []
  const logger = pino(options, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { logger, lines }
}

/** Fails a request with an error of the storage, and returns the id of the request. */
export async function failWith(
  create: typeof createCollectionService,
  logger: pino.Logger,
  cause: unknown,
): Promise<string> {
  const adapter = replaceMethods(createMemoryAdapter(), {
    list() {
      throw cause
    },
  })
  const service = create(config, adapter, { logger, production: false })
  const answer = await service(new Request('http://service.test/notes'))
  expect(answer.status).toBe(500)
  const { requestId } = (await answer.json()) as { readonly requestId: string }
  return requestId
}

/** An error as a driver throws it, with a property and a cause of its own. */
export const createCause = (): Error =>
  Object.assign(new Error('the connection broke', { cause: new Error('reset by peer') }), { code: '08006' })

/** Holds a build of the library against what a pino must print of a request that failed. */
export async function checkPino(
  create: typeof createCollectionService,
  options: pino.LoggerOptions = {},
  of = (logger: pino.Logger): pino.Logger => logger,
): Promise<void> {
  const { logger, lines } = createPino(options)
  const requestId = await failWith(create, of(logger), createCause())
  expect(lines).toHaveLength(1)
  const [line] = lines
  expect(line?.[options.messageKey ?? 'msg']).toBe('request failed')
  expect(line).toMatchObject({ level: 50, requestId, err: { code: '08006' } })
  expect(JSON.stringify(line?.err)).toMatch(
    /the connection broke.+pino-laws\.ts.+caused by: Error: reset by peer/,
  )
}
