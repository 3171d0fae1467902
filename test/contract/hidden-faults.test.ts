import { describe, expect, test } from 'vitest'
import { checkHiddenFaults, hiddenFaults } from '../support/hidden-faults.js'
import { createTestService, faultsOf } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §5, "No leak"; §2, "Match"; §6, "Problems"

describe.each(useStorages())('in %s, a write tells no more of', (_, createAdapter) => {
  test.each(hiddenFaults)('%s', (_, one) => checkHiddenFaults({ createAdapter }, one))
})

test.each([
  [60, 49, 1],
  [20, 20, 30],
])(
  'of %i documents of a bulk, %i faults are told that have a name, and %i that have none',
  async (wrong, named, unnamed) => {
    const team = { type: 'reference', collection: 'teams', default: idOf(1) }
    const { send } = createTestService(
      {
        collections: {
          teams: { schema: { k: { type: 'integer' } }, permissions: { user: { read: true } } },
          items: {
            schema: { k: { type: 'integer' }, team },
            permissions: { user: { read: { omit: ['team'] }, create: { pick: ['k'] } } },
          },
        },
      },
      { authenticate: () => ({ id: 'ann' }) },
    )
    const documents = Array.from({ length: 60 }, (_, i) => ({ k: i < wrong ? 'x' : i }))
    const faults = Object.keys(faultsOf(await send('POST /items/bulk', { body: { documents } })))
    expect(faults).toHaveLength(50)
    expect(faults.filter((path) => path.endsWith('/k'))).toHaveLength(named)
    expect(faults.filter((path) => /^\/documents\/\d+$/.test(path))).toHaveLength(unnamed)
  },
)
