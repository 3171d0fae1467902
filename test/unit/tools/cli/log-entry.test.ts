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
  expect(entry({ cycle })).toMatchObject({ message: 'it happened', details: 'cannot be printed' })
  expect(entry({ big: 1n })).toMatchObject({ level: 'warn', details: 'cannot be printed' })
})
