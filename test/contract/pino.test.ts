import type pino from 'pino'
import { describe, expect, test } from 'vitest'
import { createCollectionService } from '../../src/index.js'
import { checkPino, createCause, createPino, failWith } from '../support/pino-laws.js'

// CONTRACT.md §7, "Options": a logger of pino is passed as it is, and prints everything that the console prints.

describe('a logger of pino', () => {
  test.each<[string, pino.LoggerOptions, ((logger: pino.Logger) => pino.Logger)?]>([
    ['as it is', {}],
    ['that is a child', {}, (logger) => logger.child({ part: 'api' })],
    ['with another key for errors', { errorKey: 'error' }],
    ['with another key for messages', { messageKey: 'message' }],
  ])(
    '%s prints the message, the id of the request, and the error with its stack and causes',
    (_, options, of) => checkPino(createCollectionService, options, of),
  )

  test('prints a cause that is no error, and a warning without details', async () => {
    const { logger, lines } = createPino()
    await failWith(createCollectionService, logger, 'a text')
    const open = { schema: {}, permissions: { '*': true } } as const
    createCollectionService({ collections: { notes: open } }, undefined, { logger, production: false })
    expect(lines).toMatchObject([
      { level: 50, msg: 'request failed', err: 'a text' },
      { level: 40, msg: expect.stringContaining('/collections/notes') },
    ])
  })

  test('keeps its level: what it does not print is not printed elsewhere', async () => {
    const { logger, lines } = createPino({ level: 'fatal' })
    await failWith(createCollectionService, logger, createCause())
    expect(lines).toEqual([])
  })
})
