import { afterEach, expect, test, vi } from 'vitest'
import { drawFirstVersion } from '../../../src/core/first-version.js'

afterEach(() => void vi.restoreAllMocks())

test.each([
  ['the lowest', 0, 1],
  ['the highest', 1 - 2 ** -53, 2 ** 52 - 1],
])('%s version', (_, random, expected) => {
  vi.spyOn(Math, 'random').mockReturnValue(random)
  expect(drawFirstVersion()).toBe(expected)
})

test('versions are whole numbers, and never the same', () => {
  const versions = Array.from({ length: 1000 }, drawFirstVersion)
  expect(versions.every((version) => Number.isSafeInteger(version) && version > 0 && version < 2 ** 52)).toBe(
    true,
  )
  expect(new Set(versions).size).toBe(1000)
})
