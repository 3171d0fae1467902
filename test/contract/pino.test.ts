import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'

// CONTRACT.md §7, "Options": a logger of pino is passed as it is, and prints everything that the console prints.

const config = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
} as const

/** A pino, and what it has printed. */
function createPino(options: pino.LoggerOptions = {}) {
  const lines: { readonly [name: string]: unknown }[] = []
  const logger = pino(options, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { logger, lines }
}

/** Fails a request with an error of the storage, and returns the id of the request. */
async function failWith(logger: pino.Logger, cause: unknown): Promise<string> {
  const adapter = {
    ...createMemoryAdapter(),
    list() {
      throw cause
    },
  }
  const service = createCollectionService(config, adapter, { logger, production: false })
  const answer = await service(new Request('http://service.test/notes'))
  expect(answer.status).toBe(500)
  const { requestId } = (await answer.json()) as { readonly requestId: string }
  return requestId
}

/** An error as a driver throws it, with a property and a cause of its own. */
const createCause = (): Error =>
  Object.assign(new Error('the connection broke', { cause: new Error('reset by peer') }), { code: '08006' })

describe('a logger of pino', () => {
  test.each<[string, (logger: pino.Logger) => pino.Logger, pino.LoggerOptions]>([
    ['as it is', (logger) => logger, {}],
    ['that is a child', (logger) => logger.child({ part: 'api' }), {}],
    ['with another key for errors', (logger) => logger, { errorKey: 'error' }],
    ['with another key for messages', (logger) => logger, { messageKey: 'message' }],
  ])(
    '%s prints the message, the id of the request, and the error with its stack and causes',
    async (_, of, options) => {
      const { logger, lines } = createPino(options)
      const requestId = await failWith(of(logger), createCause())
      expect(lines).toHaveLength(1)
      const [line] = lines
      expect(line?.[options.messageKey ?? 'msg']).toBe('request failed')
      expect(line).toMatchObject({ level: 50, requestId, err: { code: '08006' } })
      const stack = JSON.stringify(line?.err)
      expect(stack).toMatch(/the connection broke.+pino\.test\.ts.+caused by: Error: reset by peer/)
    },
  )

  test('prints a cause that is no error, and a warning without details', async () => {
    const { logger, lines } = createPino()
    await failWith(logger, 'a text')
    createCollectionService(
      { ...config, collections: { notes: { ...config.collections.notes, permissions: { '*': true } } } },
      undefined,
      { logger, production: false },
    )
    expect(lines).toMatchObject([
      { level: 50, msg: 'request failed', err: 'a text' },
      { level: 40, msg: expect.stringContaining('/collections/notes') },
    ])
  })

  test('keeps its level: what it does not print is not printed elsewhere', async () => {
    const { logger, lines } = createPino({ level: 'fatal' })
    await failWith(logger, createCause())
    expect(lines).toEqual([])
  })
})
