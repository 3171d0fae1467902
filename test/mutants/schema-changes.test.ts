import { expect, test } from 'vitest'
import type * as Erase from '../../src/core/migrate/erase.js'
import type * as Fill from '../../src/core/migrate/fill.js'
import type * as FieldNames from '../../src/core/stored/names/field-names.js'
import type * as CompareRecord from '../../src/core/stored/record/compare-record.js'
import type * as FindValues from '../../src/core/stored/record/find-values.js'
import { createMemoryAdapter } from '../../src/index.js'
import { checkSchemaChanges } from '../support/schema-change-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Changes of the configuration that show a caller what was hidden. Pairs of stores have to notice each. */

const change =
  <T>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

/** Each with the changes of the configuration, one after another, that bring it to light. */
const mutants: readonly (readonly [...Mutant, changes: readonly string[]])[] = [
  [
    'a hidden field that is renamed beside additionalProperties shows its values',
    '../../src/core/stored/record/compare-record.js',
    change<typeof CompareRecord>(() => ({ reserveNames() {} })),
    ['forget'],
  ],
  [
    'the name of a field that was dropped, declared again, shows the earlier values',
    '../../src/core/stored/record/find-values.js',
    change<typeof FindValues>(() => ({ findValues: async () => ({ count: 0, ids: [] }) })),
    ['drop', 'add', 'again'],
  ],
  [
    'a stored value under the name of a renamed field is shown',
    '../../src/core/stored/names/field-names.js',
    change<typeof FieldNames>((real) => ({
      toDeclared: (names, stored) =>
        Object.fromEntries(
          Object.entries(real.toDeclared(names, stored)).map(([name, value]) => [
            name.replace('_:', 'old_'),
            value,
          ]),
        ),
    })),
    ['exchange', 'drop'],
  ],
  [
    'a run that changes what is hidden sets updatedAt',
    '../../src/core/migrate/fill.js',
    change<typeof Fill>(({ fillDocument }) => ({
      fillDocument(collection, document) {
        const filled = fillDocument(collection, document)
        if (filled.document === document) return filled
        return { ...filled, document: { ...filled.document, updatedAt: '2026-01-01T00:00:00.000Z' } }
      },
    })),
    ['fill'],
  ],
  [
    'a run that removes what is hidden sets updatedAt',
    '../../src/core/migrate/erase.js',
    change<typeof Erase>(({ eraseNames }) => ({
      eraseNames(collection, document) {
        const erased = eraseNames(collection, document)
        if (erased.document === document) return erased
        return { ...erased, document: { ...erased.document, updatedAt: '2026-01-01T00:00:00.000Z' } }
      },
    })),
    ['drop', 'erase'],
  ],
]

test.each(choose(mutants))('%s: noticed', async (...[what, module, replace, changes]) => {
  const { build, migrate } = await loadMutant([what, module, replace], async () => ({
    build: (await import('../../src/core/create-service.js')).createCollectionService,
    migrate: (await import('../../src/tools/migrate/index.js')).migrateCollections,
  }))
  const create = () => {
    const adapter = createMemoryAdapter()
    return () => adapter
  }
  let isNoticed = false
  for (let first = 1; first <= 100 && !isNoticed; first += 5)
    isNoticed = await fails(checkSchemaChanges(5, { create, build, migrate, changes }, first))
  expect(isNoticed).toBe(true)
})
