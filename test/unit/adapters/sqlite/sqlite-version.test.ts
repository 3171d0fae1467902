import { describe, expect, test } from 'vitest'
import { createVersionWarning } from '../../../../src/adapters/sqlite/drivers/sound.js'

function warningsOf(...versions: readonly string[]): readonly string[] {
  const messages: string[] = []
  const warn = createVersionWarning((message) => messages.push(message))
  for (const version of versions) warn({ version, update: 'update' })
  return messages
}

describe('a version of SQLite', () => {
  test.each(['3.51.2', '3.50.9', '3.7.0', '3.9.3'])('%s can corrupt a file: it is named', (version) => {
    const [message, ...others] = warningsOf(version)
    expect(message).toContain(version)
    expect(others).toEqual([])
  })

  test.each(['3.51.3', '3.51.10', '3.53.2', '3.100.0', '4.0.0'])('%s is sound', (version) =>
    expect(warningsOf(version)).toEqual([]),
  )

  test('is warned of once', () => expect(warningsOf('3.51.2', '3.51.1', '3.40.0')).toHaveLength(1))
})
