import { describe, expect, test } from 'vitest'
import { type ConfigError, createCollectionService, createMemoryAdapter } from '../../src/index.js'
import {
  FULL_RIGHTS_CONFIG as config,
  FULL_RIGHTS_HOOK_LAWS,
  FULL_RIGHTS_LAWS,
} from '../support/full-rights-laws.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §7, "Full rights", and §9, "Before a write"

const storages = useStorages()
const opened = closeAfterEach()

describe.each(storages)('in %s,', (_, create) => {
  test.each([...FULL_RIGHTS_LAWS, ...FULL_RIGHTS_HOOK_LAWS])('%s', async (_, check) => {
    await check((options = {}) => {
      const service = createTestService(config, { adapter: create(), ...options })
      opened.push(service)
      return service
    })
  })
})

test.each([[{ as: 'a\0b' }], [{ as: '\ud800' }], [{ as: 'x'.repeat(1025) }], [{ as: 7 }], [{ as: null }]])(
  'an `as` that no caller could have is an error: %j',
  (options) => {
    expect(() => createCollectionService(config).system(options as never)).toThrow(
      'as: must be a string without NUL or lone surrogates',
    )
  },
)

test('an unknown option of system names the right one', () => {
  const wrong = (): unknown => createCollectionService(config).system({ As: 'a' } as never)
  expect(wrong).toThrow('As: is unknown')
  try {
    wrong()
  } catch (thrown) {
    expect((thrown as ConfigError).name).toBe('ConfigError')
  }
})

test('handlers of one caller have no way to full rights', () => {
  const service = createCollectionService(config)
  for (const handler of [service.as(null), service.system(), service.system().as(null)]) {
    expect(handler).not.toHaveProperty('system')
    expect(handler).not.toHaveProperty('identify')
  }
})

test('a service without accounts has full rights too', async () => {
  const { collections } = config
  const service = createCollectionService(
    { collections: { counters: collections.counters } },
    createMemoryAdapter(),
  )
  const body = JSON.stringify({ last: 3 })
  const headers = { 'content-type': 'application/json' }
  const made = await service.system()(
    new Request('http://a.test/counters', { method: 'POST', headers, body }),
  )
  expect(made.status).toBe(201)
})
