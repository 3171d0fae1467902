import { describe, expect, test } from 'vitest'
import { ConfigError, createCollectionService, createMemoryAdapter, defineConfig } from '../../src/index.js'
import { checkConfig, comparePermissions, describeApi, explainRequest } from '../../src/insight/index.js'
import { FILL_LAWS, FILLED, FILLS, opener } from '../support/fill-laws.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §9, "Before a write"

const opened = closeAfterEach()

describe.each(useStorages())('a hook that fills, in %s,', (_, adapter) => {
  test.each(FILL_LAWS)('%s', (_what, check) =>
    check(opener({ adapter, onOpen: (service) => opened.push(service) })),
  )
})
