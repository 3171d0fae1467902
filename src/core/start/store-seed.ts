import type { Seeding } from '../documents/write/seed-document.js'
import { judgeSeed, readId, type SeedDraft } from '../documents/write/seed-document.js'
import type { Fault } from '../errors.js'
import { suggest } from '../fields/schema/names.js'
import { collectReferences, type Reference } from '../fields/schema/references.js'
import { MAX_FAULTS } from '../fields/schema/validator.js'
import { isObject, isPlainObject, readOwn } from '../json/own-properties.js'
import { reportFirst } from '../json/report.js'
import { planAgreements } from '../references/matches.js'
import { requireReference } from '../references/references.js'
import { Call, type Service } from '../request/call.js'
import { UNHURRIED } from '../request/deadline.js'
import { brokenReference, conflict, invalid } from '../request/refusals.js'
import type { Agreement } from '../request/store/attempt.js'
import { createStore } from '../request/store.js'
import type { StorageAdapter, WriteStep } from '../storage.js'
import { originOf } from '../stored/names/renamed-storage.js'
import type { JsonObject } from '../types.js'

const seeded = new WeakMap<StorageAdapter, Promise<void>>()

/** Whether the seed of an adapter was stored, or is being stored. */
export const isSeeded = (adapter: StorageAdapter): boolean => seeded.has(originOf(adapter))

/**
 * Stores the seed of an adapter, all documents or none, once for all services that use the adapter. The documents are
 * validated like bodies of a caller with all rights, but keep `_id`, `createdAt`, `updatedAt` and `createdBy`. Throws
 * `validation_failed` with all validation errors, whose `path` is a JSON pointer into the seed, or `unique_violation`.
 */
export function storeSeed(service: Service, adapter: StorageAdapter): Promise<void> {
  const origin = originOf(adapter)
  const known = seeded.get(origin)
  if (known) return known
  const store = createStore(adapter, UNHURRIED)
  const call = new Call(service, { deadline: UNHURRIED, store, caller: null, session: undefined })
  const storing = storeAll(call, adapter.seed)
  seeded.set(origin, storing)
  // After a failure, the next `open` stores the seed again.
  storing.catch(() => seeded.delete(origin))
  return storing
}

async function storeAll(call: Call, seed: unknown): Promise<void> {
  const { plan } = call.service
  if (seed === undefined) return
  if (!isPlainObject(seed)) throw invalid([{ path: '', code: 'wrong_type', message: 'must be an object' }])
  const faults: Fault[] = []
  const report = reportFirst(faults, MAX_FAULTS)
  const drafts: SeedDraft[] = []
  const seeding = { call, accounts: findAccounts(call.service, seed) }
  for (const [name, documents] of Object.entries(seed)) {
    const collection = plan.collections.get(name)
    if (collection && Array.isArray(documents)) {
      const own = report.at(name)
      for (const [i, document] of documents.entries()) {
        const draft = judgeSeed(seeding, collection, document, own.at(i))
        if (draft) drafts.push(draft)
      }
      continue
    }
    const message = collection
      ? 'must be an array of documents'
      : `is not a collection of the configuration${suggest(name, [...plan.collections.keys()])}`
    report.at(name).fault('unknown_collection', message)
  }
  // Secrets are hashed after all checks, because hashing takes long.
  if (faults.length > 0) throw invalid(faults)
  const inserts: WriteStep[] = []
  const references: Reference[] = []
  const agreements: Agreement[] = []
  for (const { collection, document, path } of drafts) {
    const insert = typeof document === 'function' ? await document() : await document
    inserts.push({ in: collection.name, insert })
    references.push(...collectReferences(collection.fields, insert, path))
    agreements.push(...planAgreements(plan, collection, { after: insert, at: path }))
  }
  await call.store.write(() => ({
    // Documents may refer to each other in any order.
    steps: [...inserts, ...references.map(requireReference), ...agreements.flatMap(({ step }) => step ?? [])],
    done: undefined,
    refuse({ reason, step, fields = [] }) {
      const broken = agreements[step - inserts.length - references.length]?.refuse
      if (broken) throw broken()
      if (reason === 'missing') throw brokenReference(references[step - inserts.length])
      throw conflict(fields, drafts[step]?.path)
    },
  }))
}

function findAccounts({ accounts }: Service, seed: JsonObject): Seeding['accounts'] {
  const users = accounts ? readOwn(seed, accounts.users.name) : undefined
  const documents: readonly unknown[] = Array.isArray(users) ? users : []
  return new Set(documents.flatMap((one) => (isObject(one) ? (readId(readOwn(one, '_id')) ?? []) : [])))
}
