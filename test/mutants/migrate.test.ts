import { expect, test } from 'vitest'
import { isId } from '../../src/core/filter/filter.js'
import type * as Own from '../../src/core/json/own-properties.js'
import type * as DrawId from '../../src/core/migrate/draw-id.js'
import type * as Erase from '../../src/core/migrate/erase.js'
import type * as Fill from '../../src/core/migrate/fill.js'
import type * as MigrateDocument from '../../src/core/migrate/migrate-document.js'
import type * as NormalForm from '../../src/core/migrate/normal-form.js'
import type * as TurnModule from '../../src/core/migrate/turn.js'
import type * as Watch from '../../src/core/start/process-watch.js'
import type { StorageAdapter, WriteStep } from '../../src/core/storage.js'
import type * as FindValues from '../../src/core/stored/record/find-values.js'
import type * as ProcessLines from '../../src/core/stored/record/process-lines.js'
import type * as ProgressModule from '../../src/core/stored/record/progress.js'
import type * as SchemaRecord from '../../src/core/stored/record/schema-record.js'
import { createMemoryAdapter } from '../../src/index.js'
import { DROP_UNIQUE_LAWS } from '../support/drop-unique-laws.js'
import { ERASE_LAWS } from '../support/erase-laws.js'
import { MIGRATE_LAWS } from '../support/migrate-laws.js'
import { PROCESS_LAWS } from '../support/process-laws.js'
import type { TestService } from '../support/service.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Runs that change too little, too much, or what others have written. */

const FILL = '../../src/core/migrate/fill.js'
const FORM = '../../src/core/migrate/normal-form.js'
const TURN = '../../src/core/migrate/turn.js'
const RECORD = '../../src/core/stored/record/schema-record.js'
const PROGRESS = '../../src/core/stored/record/progress.js'
const DRAW = '../../src/core/migrate/draw-id.js'
const DOCUMENT = '../../src/core/migrate/migrate-document.js'
const FREEZE = '../../src/core/json/own-properties.js'
const LINES = '../../src/core/stored/record/process-lines.js'
const WATCH = '../../src/core/start/process-watch.js'
const ERASE = '../../src/core/migrate/erase.js'
const VALUES = '../../src/core/stored/record/find-values.js'

const change =
  <T>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

const breakFill = (break_: (fill: typeof Fill.fillDocument) => typeof Fill.fillDocument) =>
  change<typeof Fill>(({ fillDocument }) => ({ fillDocument: break_(fillDocument) }))

const replaceAnyVersion = (step: WriteStep): readonly WriteStep[] =>
  'replace' in step
    ? [
        { in: step.in, remove: isId(step.replace._id) },
        { in: step.in, insert: step.replace },
      ]
    : [step]

/** A turn that each runner has at once. */
class Untaken {
  readonly #adapter: StorageAdapter

  constructor(adapter: StorageAdapter) {
    this.#adapter = adapter
  }

  write(steps: readonly WriteStep[]) {
    return this.#adapter.write(steps, {})
  }

  async renew() {}

  async release() {}
}

const mutants: readonly Mutant[] = [
  ['nothing is filled', FILL, breakFill(() => (_, document) => ({ document, fields: new Set() }))],
  [
    'a value that exists is replaced',
    FILL,
    breakFill((fill) => (collection, document) => {
      const empty = { _id: document._id, _version: document._version }
      const filled = fill(collection, empty)
      return { ...filled, document: { ...document, ...filled.document } }
    }),
  ],
  [
    'updatedAt is that of the run',
    FILL,
    breakFill((fill) => (collection, document) => {
      const filled = fill(collection, document)
      const updatedAt = '2026-01-01T00:00:00.000Z'
      return filled.document === document
        ? filled
        : { ...filled, document: { ...filled.document, updatedAt } }
    }),
  ],
  [
    'texts stay as they are',
    FORM,
    change<typeof NormalForm>(() => ({ formDocument: (_, document) => ({ document, fields: new Set() }) })),
  ],
  [
    'a text that is no time is none of its business',
    FORM,
    change<typeof NormalForm>(({ formDocument }) => ({
      formDocument(collection, document) {
        const { wrong: _, ...formed } = formDocument(collection, document)
        return formed
      },
    })),
  ],
  [
    'what others have written is overwritten',
    TURN,
    change<typeof TurnModule>(({ Turn }) => ({
      Turn: class extends Turn {
        override async write(steps: readonly WriteStep[]) {
          const result = await super.write(steps)
          if (result?.ok !== false || result.reason !== 'changed') return result
          return super.write(steps.flatMap(replaceAnyVersion))
        }
      },
    })),
  ],
  [
    'the end of a run is not recorded, and documents that lack a value are not looked for',
    VALUES,
    change<typeof FindValues>(() => ({ findLacking: async () => ({ count: 0, ids: [] }) })),
  ],
  [
    'every unique index is created by the run',
    RECORD,
    change<typeof SchemaRecord>(({ readRecord }) => ({
      readRecord: async (store) => {
        const record = await readRecord(store)
        return record && { ...record, uniques: { includes: () => true } as unknown as readonly string[] }
      },
    })),
  ],
  [
    'the place of a migration is stored after its end alone',
    PROGRESS,
    change<typeof ProgressModule>(({ Progress }) => {
      const { move } = Progress.prototype
      Progress.prototype.move = function (collection, place) {
        const isLast = place.after === place.last
        return isLast
          ? move.call(this, collection, place)
          : { step: { in: '_schema', require: 'turn' }, moved() {} }
      }
      return { Progress }
    }),
  ],
  [
    'documents that failed are not tried again',
    PROGRESS,
    change<typeof ProgressModule>(({ Progress }) => {
      const { move } = Progress.prototype
      Progress.prototype.move = function (collection, place) {
        return move.call(this, collection, { ...place, failed: [] })
      }
      return { Progress }
    }),
  ],
  [
    'documents that a migration makes are migrated',
    DRAW,
    change<typeof DrawId>(({ drawIdBeyond }) => {
      let left = 3
      return {
        // Without an end, the walk would never come to one.
        drawIdBeyond: (createId, stretch) =>
          stretch.last.startsWith('f') && left-- > 0 ? createId() : drawIdBeyond(createId, stretch),
      }
    }),
  ],
  [
    'a migration is shown hashes',
    FREEZE,
    change<typeof Own>(({ pickWhere }) => ({
      pickWhere: (object, isPicked) =>
        'createdAt' in object && '_version' in object
          ? pickWhere(object, (name) => isPicked(name) || name === '_hashes')
          : pickWhere(object, isPicked),
    })),
  ],
  [
    'what a migration sets is not validated',
    DOCUMENT,
    change<typeof MigrateDocument>(({ migrateDocument }) => ({
      migrateDocument: (migrating, before) =>
        migrateDocument(
          {
            ...migrating,
            collection: {
              ...migrating.collection,
              validate: Object.assign(() => [], { inSlices: () => [] }),
            },
          },
          before,
        ),
    })),
  ],
  [
    'no reference of a migrated document is required',
    DOCUMENT,
    change<typeof MigrateDocument>(({ migrateDocument }) => ({
      async migrateDocument(migrating, before) {
        const fixed = await migrateDocument(migrating, before)
        const steps = fixed.steps.filter((step) => !('require' in step) || step.version !== undefined)
        return { ...fixed, steps }
      },
    })),
  ],
  [
    'a document that others refer to is removed',
    DOCUMENT,
    change<typeof MigrateDocument>(({ migrateDocument }) => ({
      async migrateDocument(migrating, before) {
        const fixed = await migrateDocument(migrating, before)
        return { ...fixed, steps: fixed.steps.filter((step) => !('refuse' in step)) }
      },
    })),
  ],
  [
    'a migration is never finished',
    RECORD,
    change<typeof SchemaRecord>(() => ({ noteFinished: async () => {} })),
  ],
  [
    'a configuration that is older than the documents starts',
    RECORD,
    change<typeof SchemaRecord>(({ readRecord, renewRecord }) => ({
      readRecord: async (store) => {
        const record = await readRecord(store)
        return record && { ...record, finished: [...record.finished].sort(() => -1).slice(0, -1) }
      },
      renewRecord,
    })),
  ],
  [
    'a migration does not look for other processes',
    LINES,
    change<typeof ProcessLines>(() => ({ listLines: async () => [] })),
  ],
  [
    'the line of a killed process counts for ever',
    LINES,
    change<typeof ProcessLines>(({ listLines }) => ({
      async listLines(store) {
        const lines = await listLines(store, 0)
        return lines.map((line) => ({ ...line, at: Date.now() }))
      },
    })),
  ],
  [
    'a process that ends leaves its line',
    WATCH,
    change<typeof Watch>(({ ProcessWatch }) => {
      ProcessWatch.prototype.end = async () => {}
      return { ProcessWatch }
    }),
  ],
  [
    'a request after a pause does not wait for the look',
    WATCH,
    change<typeof Watch>(({ ProcessWatch }) => {
      const { enter } = ProcessWatch.prototype
      ProcessWatch.prototype.enter = function () {
        void Promise.resolve(enter.call(this)).catch(() => {})
        return undefined
      }
      return { ProcessWatch }
    }),
  ],
  [
    'a request never looks',
    WATCH,
    change<typeof Watch>(({ ProcessWatch }) => {
      ProcessWatch.prototype.enter = () => undefined
      return { ProcessWatch }
    }),
  ],
  [
    'a migration does not say that it begins',
    PROGRESS,
    change<typeof ProgressModule>(() => ({ readBegun: () => [] })),
  ],
  [
    'a refused migration has begun',
    PROGRESS,
    change<typeof ProgressModule>(() => ({
      forgetProgress: () => ({ in: '_schema', remove: { kind: 'or', filters: [] } }),
    })),
  ],
  [
    'the hash of an erased secret is kept',
    ERASE,
    change<typeof Erase>(({ eraseNames }) => ({
      eraseNames(collection, document) {
        const erased = eraseNames(collection, document)
        const { _hashes: hashes } = document as { readonly _hashes?: unknown }
        const kept = hashes ? { ...erased.document, _hashes: hashes } : erased.document
        return { ...erased, document: kept }
      },
    })),
  ],
  [
    'that names are erased is not recorded',
    RECORD,
    change<typeof SchemaRecord>(() => ({ noteErased: async () => {} })),
  ],
  [
    'names are erased beside a process that can store them',
    LINES,
    change<typeof ProcessLines>(() => ({ findStorable: () => undefined })),
  ],
  [
    'a unique index is dropped beside a process that declares it',
    LINES,
    change<typeof ProcessLines>(() => ({ findDeclared: () => undefined })),
  ],
  [
    'a drop does not say that it begins',
    PROGRESS,
    change<typeof ProgressModule>(() => ({ readDropping: () => [] })),
  ],
  [
    'that a unique index was dropped is not recorded',
    RECORD,
    change<typeof SchemaRecord>(() => ({ noteDropped: async () => {} })),
  ],
  [
    'that a process has created a dropped index is not recorded',
    RECORD,
    change<typeof SchemaRecord>(() => ({ noteCreated: async () => {} })),
  ],
  [
    'two runs write at once',
    TURN,
    change<typeof TurnModule>(() => ({ Turn: Untaken as unknown as typeof TurnModule.Turn })),
  ],
]

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  const { create, migrate, drop } = await loadMutant(mutant, async () => ({
    create: (await import('../../src/core/create-service.js')).createCollectionService,
    migrate: (await import('../../src/tools/migrate/index.js')).migrateCollections,
    drop: (await import('../../src/tools/migrate/index.js')).dropUniqueIndex,
  }))
  const opened: TestService[] = []
  let isNoticed = false
  for (const [, check] of [...MIGRATE_LAWS, ...PROCESS_LAWS, ...ERASE_LAWS, ...DROP_UNIQUE_LAWS]) {
    const adapter = createMemoryAdapter()
    isNoticed ||= await fails(check({ connect: () => adapter, create, migrate, drop, opened }))
  }
  await Promise.all(opened.map(({ handler }) => handler.close()))
  expect(isNoticed).toBe(true)
})
