import { describe, expect, test } from 'vitest'
import type { HookChange } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { until } from '../support/until.js'

// CONTRACT.md §1, "System fields"; §9, "Before a write", "Consumers"

const text = { type: 'string' } as const
const config = {
  collections: {
    notes: {
      changes: true,
      additionalProperties: true,
      schema: {
        zeta: text,
        title: text,
        o: { type: 'object', properties: { y: text, x: text } },
        list: { type: 'array', items: { type: 'object', properties: { d: text, c: text } } },
        j: { type: 'json' },
        a: text,
      },
      permissions: { '*': true },
    },
  },
} as const

/** In the order of nothing. */
const body = {
  ex2: { b: 1, a: 1 },
  a: 'a',
  list: [{ c: 'c', d: 'd' }],
  ex1: 1,
  j: [{ n: 1, m: 1 }],
  o: { x: 'x', y: 'y' },
  title: 't',
  zeta: 'z',
}

/** The names of properties in their order, each with those inside it behind it. */
const namesOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value)
    ? value.flatMap(namesOf)
    : Object.entries(value as object).flatMap(([name, inner]) => {
        const names = typeof inner === 'object' && inner !== null ? namesOf(inner) : []
        return names.length > 0 ? [name, names] : [name]
      })

const closing = closeAfterEach()

describe.each(useStorages())('in %s,', (_, create) => {
  test('hooks and consumers are told properties in the order of answers', async () => {
    const told: unknown[] = []
    const tell = ({ before, after }: Pick<HookChange, 'before' | 'after'>): void => {
      for (const document of [before, after]) if (document) told.push(namesOf(document))
    }
    const handle = async (change: Pick<HookChange, 'before' | 'after'>) => tell(change)
    const service = createTestService(config, {
      adapter: create(),
      hooks: { notes: { before: tell } },
      consumers: { told: { collections: ['notes'], handle } },
    } as never)
    closing.push(service)
    const { _id } = (await service.send('POST /notes', { body })).body
    await service.send(`PATCH /notes/${_id}`, {
      body: { a: 'b', j: [{ n: 2, m: 1 }], ex1: 2, o: { x: 'b' } },
    })
    await service.send(`DELETE /notes/${_id}`)
    await until(() => told.length === 8)
    const fields = [
      'zeta',
      'title',
      'o',
      ['y', 'x'],
      'list',
      ['d', 'c'],
      'j',
      ['m', 'n'],
      'a',
      'ex1',
      'ex2',
      ['a', 'b'],
    ]
    const expected = ['_id', ...fields, 'createdAt', 'updatedAt', 'createdBy']
    expect(told).toEqual(told.map(() => expected))
  })
})
