import { describe, test } from 'vitest'
import { checkHiddenFaults, hiddenFaults } from '../support/hidden-faults.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §5, "No leak"; §2, "Match"; §6, "Problems"

describe.each(useStorages())('in %s, a write tells no more of', (_, createAdapter) => {
  test.each(hiddenFaults)('%s', (_, one) => checkHiddenFaults({ createAdapter }, one))
})
