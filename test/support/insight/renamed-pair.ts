import { expect } from 'vitest'
import { createMemoryAdapter, type StoredDocument } from '../../../src/index.js'
import { comparePermissions } from '../../../src/tools/insight/diff/compare-permissions.js'
import type {
  Difference,
  PermissionDifference,
  WitnessRequest,
} from '../../../src/tools/insight/diff/types.js'
import type { Random } from '../../../src/tools/testing/adapter/fuzz/random.js'
import { createTestService } from '../service.js'
import { findApart, isAbout } from './check-pair.js'
import type { SmallAnswer } from './judge.js'
import type { Pair } from './pairs.js'
import { COLLECTIONS, FIELDS, type Json, NOW, type SmallCaller, type SmallConfig } from './universe.js'

/** The names that a configuration gets, by its own ones. */
export interface NewNames {
  readonly collections: { readonly [name: string]: string }
  /** The names of fields, by the old name of their collection. */
  readonly fields: { readonly [collection: string]: { readonly [name: string]: string } }
}

/** New names by chance: some stay, some are new, and some are those of others. */
export const randomNames = (random: Random): NewNames => ({
  collections: renameSome(random, COLLECTIONS, 'papers'),
  fields: Object.fromEntries(COLLECTIONS.map((name) => [name, renameSome(random, FIELDS, 'fresh')])),
})

function renameSome(random: Random, names: readonly string[], fresh: string) {
  const others = random.chance(0.5) ? random.sample(names, names.length) : names
  return Object.fromEntries(
    names.map((name, i) => [name, random.chance(0.3) ? `${fresh}${i}` : (others[i] ?? name)]),
  )
}

/** The same configuration under new names. What it stores keeps its name. */
export function renameConfig({ collections }: SmallConfig, names: NewNames): SmallConfig {
  const renamed = COLLECTIONS.map((name) => {
    const { schema, permissions, ...others } = collections[name]
    const fields = names.fields[name] ?? {}
    const nameOf = (field: string): string => fields[field] ?? field
    return [
      names.collections[name] ?? name,
      {
        ...others,
        stored: name,
        schema: Object.fromEntries(
          Object.entries(schema).map(([field, definition]) => [
            nameOf(field),
            { ...definition, stored: field },
          ]),
        ),
        permissions: renameParts(permissions, nameOf),
      },
    ]
  })
  return { collections: Object.fromEntries(renamed) } as unknown as SmallConfig
}

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Renames the fields in the lists, filters and values of rules, at any depth of the permissions. */
function renameParts(value: unknown, nameOf: (field: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => renameParts(one, nameOf))
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([part, inner]) => {
      if (part === 'pick' || part === 'omit') return [part, (inner as readonly string[]).map(nameOf)]
      const isNamed = part === 'where' || part === 'check' || part === 'set'
      return [part, isNamed ? renameKeys(inner, nameOf) : renameParts(inner, nameOf)]
    }),
  )
}

/** Renames the fields of a filter or of a document. */
function renameKeys(value: unknown, nameOf: (field: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => renameKeys(one, nameOf))
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$or' || key === '$and' ? [key, renameKeys(inner, nameOf)] : [nameOf(key), inner],
    ),
  )
}

const invert = (names: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(names).map(([old, name]) => [name, old]))

/** What a difference says, with the old names; without its counterexample. */
function summarise(difference: Difference, { collections, fields }: NewNames): string {
  if ('pointer' in difference) return JSON.stringify(difference)
  const name = invert(collections)[difference.collection] ?? difference.collection
  const { kind, operation } = difference
  if (!('witness' in difference)) return JSON.stringify([kind, name, operation, difference.reason])
  const old = invert(fields[name] ?? {})
  const named = difference.fields.map((field) => old[field] ?? field).sort()
  return JSON.stringify([kind, name, operation, named, difference.roles, difference.stale])
}

const SAME: NewNames = { collections: {}, fields: {} }

/** The comparison to check, and whether handlers run the counterexamples. */
export interface RenamedAsked {
  readonly byHandlers: boolean
  readonly compare?: typeof comparePermissions
}

/**
 * The laws of `comparePermissions` about renames: a pair whose later configuration was renamed has the same differences as
 * the pair itself, and their counterexamples show them, each handler under its own names and over the same stored documents.
 * Returns the number of differences.
 */
export async function checkRenamed(
  { before, after }: Pair,
  random: Random,
  { byHandlers, compare = comparePermissions }: RenamedAsked,
): Promise<number> {
  const names = randomNames(random)
  const later = renameConfig(after, names)
  const context = JSON.stringify({ before, later })
  const options = { authenticate: true }
  const differences = compare(before, later, options)
  const expected = comparePermissions(before, after, options).map((one) => summarise(one, SAME))
  expect({ context, found: differences.map((one) => summarise(one, names)).sort() }).toEqual({
    context,
    found: expected.sort(),
  })
  // Back again, the earlier configuration is the one with the stored names.
  const back = compare(renameConfig(before, names), after, options)
  expect(back.map((one) => summarise(one, SAME)).sort()).toEqual(expected.sort())
  for (const difference of differences)
    if (byHandlers && 'witness' in difference) await checkWitness({ before, later, names }, difference)
  return differences.length
}

interface Renamed {
  readonly before: SmallConfig
  readonly later: SmallConfig
  readonly names: NewNames
}

async function checkWitness(
  { before, later, names }: Renamed,
  difference: PermissionDifference,
): Promise<void> {
  const {
    caller,
    callerAfter = caller,
    documents,
    documentsAfter,
    request,
    requestAfter,
  } = difference.witness
  const renamed = Object.fromEntries(
    Object.entries(documents).map(([name, all]) => {
      const fields = names.fields[name] ?? {}
      const shown = all.map((document) => renameKeys(document, (field) => fields[field] ?? field))
      return [names.collections[name] ?? name, shown]
    }),
  )
  expect(documentsAfter ?? documents).toEqual(renamed)
  const was = await ask(before, SAME, { caller, documents, request })
  const is = await ask(later, names, { caller: callerAfter, documents, request: requestAfter ?? request })
  const [, name = ''] = request.path.split('/')
  const old = invert(names.fields[name] ?? {})
  const inOldNames = { ...difference, fields: difference.fields.map((field) => old[field] ?? field) }
  const isShown = findApart(difference.operation, was, is).some((apart) => isAbout(inOldNames, apart))
  if (!isShown)
    expect({ before, later, difference, was, is }).toEqual('a counterexample that shows its difference')
}

interface Question {
  readonly caller: SmallCaller | null
  /** The documents under stored names. */
  readonly documents: { readonly [collection: string]: readonly Json[] }
  readonly request: WitnessRequest
}

/** Sends a request to a handler over stored documents. The answer has the old names. */
async function ask(
  config: SmallConfig,
  names: NewNames,
  { caller, documents, request }: Question,
): Promise<SmallAnswer> {
  const adapter = createMemoryAdapter()
  const service = createTestService(
    { ...config },
    { adapter, now: () => Date.parse(NOW), authenticate: () => null },
  )
  await service.handler.ready()
  for (const [name, all] of Object.entries(documents))
    for (const one of all)
      await adapter.write([{ in: name, insert: { _version: 1, ...one } as unknown as StoredDocument }], {})
  const { method, path, body } = request
  const sent = await service.send(`${method} ${path}`, { caller, ...(body ? { body } : {}) })
  const [, named = '', id = ''] = path.split('/')
  const stored = invert(names.collections)[named] ?? named
  const old = invert(names.fields[stored] ?? {})
  const toOld = (name: string): string => old[name] ?? name
  const isRefused = sent.status >= 400
  const _id = method === 'POST' ? sent.body?._id : decodeURIComponent(id)
  const all = await adapter.list(stored, {
    filter: { kind: 'and', filters: [] },
    sort: [],
    skip: 0,
    limit: null,
  })
  const found = all.find((one) => one._id === _id)
  const { _id: _, ...shown } = sent.body ?? {}
  await service.handler.close()
  return {
    status: sent.status,
    ...(isRefused ? { code: sent.body.code } : {}),
    errors: (sent.body?.errors ?? [])
      .map((fault: Json) => `/${toOld(String(fault.path).slice(1))} ${fault.code}`)
      .sort(),
    ...(isRefused || sent.body === undefined ? {} : { shown: renameKeys(shown, toOld) as Json }),
    stored: found && !(method === 'DELETE' && !isRefused) ? found : null,
    ignored: JSON.parse(`[${sent.headers.get('ignored-properties') ?? ''}]`).map(toOld),
  }
}
