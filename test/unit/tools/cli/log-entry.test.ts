import { expect, test } from 'vitest'
import { printEntry } from '../../../../src/tools/cli/log-entry.js'

const entry = (details: object) => JSON.parse(printEntry('warn', 'it happened', { ...details }))

test('an entry is one line, whatever a message contains', () => {
  const printed = printEntry('info', 'a\nb\u2028{"level":"error"}\u001b[2J')
  expect(printed).toMatch(/^[ -~\u2028]+$/)
  expect(JSON.parse(printed)).toMatchObject({
    level: 'info',
    message: 'a\nb\u2028{"level":"error"}\u001b[2J',
  })
})

test('an error has its message, its stack, its own properties and its causes', () => {
  const cause = Object.assign(new TypeError('inner'), { code: 'E1', socket: { secret: 1 } })
  const { cause: printed } = entry({ cause: new Error('outer', { cause }) })
  expect(printed).toMatchObject({ type: 'Error', message: 'outer', stack: expect.stringContaining('outer') })
  expect(printed.cause).toEqual({ type: 'TypeError', message: 'inner', stack: cause.stack, code: 'E1' })
  expect(entry({ cause: new AggregateError([cause], 'all') }).cause.errors).toMatchObject([
    { message: 'inner' },
  ])
})

test('an error that causes itself is cut, and other cycles are said', () => {
  const own = new Error('a')
  own.cause = own
  expect(JSON.stringify(entry({ cause: own }))).toMatch(/^\{"time".+/)
  const cycle: { self?: object } = {}
  cycle.self = cycle
  expect(entry({ cycle, kept: 1 })).toMatchObject({
    message: 'it happened',
    cycle: 'cannot be printed',
    kept: 1,
  })
  expect(entry({ big: 1n, cause: own })).toMatchObject({ big: 'cannot be printed', cause: { message: 'a' } })
})

test('a long text is cut, so that a line is no longer than programs read', () => {
  const cause = Object.assign(new Error('x'.repeat(1_000_000)), { body: 'y'.repeat(1_000_000) })
  const printed = printEntry('error', 'failed', { cause, text: 'z'.repeat(1_000_000) })
  expect(JSON.parse(printed)).toMatchObject({
    cause: { message: 'x'.repeat(10_000), body: 'y'.repeat(10_000) },
    text: 'z'.repeat(10_000),
  })
  expect(printed.length).toBeLessThan(50_000)
})

test('what `toJSON` of an error returns is not printed, because it may contain credentials', () => {
  const cause = Object.assign(new Error('the mail server refused'), {
    code: 'E500',
    toJSON: () => ({ config: { headers: { authorization: 'Bearer secret' } } }),
  })
  const printed = printEntry('error', 'failed', { cause, within: { cause } })
  expect(printed).not.toContain('secret')
  expect(JSON.parse(printed)).toMatchObject({ cause: { code: 'E500' }, within: { cause: { code: 'E500' } } })
})
