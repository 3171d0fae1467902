import { describe, expect, test } from 'vitest'
import { createWorkerHasher } from '../../src/mounts/node.js'
import { createTestHasher } from '../../src/tools/testing/index.js'

// CONTRACT.md §4, "Secrets"

test('hashes what the other hashers verify, and the reverse', async () => {
  const [threads, inProcess] = [createWorkerHasher({ cost: 10 }), createTestHasher()]
  const hash = await threads.hash('correct horse')
  expect(hash).toMatch(/^\$2b\$10\$/)
  expect(await inProcess.verify('correct horse', hash)).toBe(true)
  expect(await threads.verify('correct horse', hash)).toBe(true)
  expect(await threads.verify('battery staple', hash)).toBe(false)
  expect(await threads.verify('correct horse', await inProcess.hash('correct horse'))).toBe(true)
})

test.each(['', 'no hash', `$2b$31$${'.'.repeat(53)}`])(
  'a hash that cannot be read is a wrong one: %j',
  async (hash) => {
    expect(await createWorkerHasher({ cost: 10 }).verify('secret', hash)).toBe(false)
  },
)

test('many at once are hashed, in turn', async () => {
  const { hash } = createWorkerHasher({ cost: 10, threads: 3 })
  const hashes = await Promise.all(Array.from({ length: 12 }, () => hash('same')))
  expect(new Set(hashes).size).toBe(12)
})

test('more than 128 waiting are told so', async () => {
  const { hash } = createWorkerHasher({ cost: 10, threads: 1 })
  const controller = new AbortController()
  const results = Array.from({ length: 130 }, () => hash('same', controller.signal))
  await expect(results[129]).rejects.toMatchObject({ code: 'overloaded' })
  controller.abort()
  const settled = await Promise.allSettled(results)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

describe('options', () => {
  test.each([
    [{ cost: 9 }, 'cost'],
    [{ cost: 16 }, 'cost'],
    [{ threads: 0 }, 'threads'],
    [{ threads: 1.5 }, 'threads'],
    [{ thread: 1 }, 'thread'],
  ])('%j is refused', (options, path) => {
    expect(() => createWorkerHasher(options as never)).toThrow(
      expect.objectContaining({ code: 'invalid_config', faults: [expect.objectContaining({ path })] }),
    )
  })
})
