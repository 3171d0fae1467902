import { expect, test } from 'vitest'
import { check } from '../../../../../../src/core/documents/write/stages/check.js'
import { draftOf, judge, NOW } from '../support.js'

// CONTRACT.md §5, "Rules"

const grant = { check: { a: 'x', createdAt: NOW } }
const world = {
  schema: { a: { type: 'string' } },
  permissions: { '*': { create: grant, update: grant, read: true } },
}

test.each(['create', 'patch', 'put'] as const)(
  'it is evaluated on the document of a %s',
  async (operation) => {
    const draft = draftOf(world, { operation })
    draft.fields = { a: 'y' }
    expect(await judge(draft, check)).toEqual({ kind: 'refused' })
    draft.fields = { a: 'x' }
    expect(await judge(draft, check)).toBeUndefined()
  },
)
