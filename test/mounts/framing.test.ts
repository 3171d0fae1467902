import { describe, test } from 'vitest'
import { checkFraming, framedLists } from '../support/framing-laws.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §5, "No leak"; §6, "Scheduling"

describe.each(useStorages())('in %s', (_, createAdapter) => {
  test.each(framedLists)(
    'how %s documents are sent does not tell how large they are unseen: %s',
    (size, query) => checkFraming({ createAdapter }, [size, query]),
  )
})
