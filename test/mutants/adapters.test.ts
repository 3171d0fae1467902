import { describe, expect, test, vi } from 'vitest'
import { holdsType, type Ordered } from '../../src/core/filter/compare.js'
import type { FieldRef, Leaf } from '../../src/core/filter/filter.js'
import { compileFilter } from '../../src/core/filter/matches.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import type { Pattern } from '../../src/core/filter/pattern/syntax/pattern.js'
import { compareText } from '../../src/core/json/compare-text.js'
import { compilePath } from '../../src/core/json/own-properties.js'
import type { JsonObject } from '../../src/core/types.js'
import { adapterCases, fuzzAdapter, runCase, testAdapter } from '../../src/tools/testing/index.js'
import { type ArrayAdapterParts, createArrayAdapter, once, soundParts } from './array-adapter.js'
import { choose } from './choose.js'

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 2, 4)
})

/**
 * Adapters broken on purpose, each in a way in which storage engines differ from each other. The conformance kit has to
 * notice each of them; where a query can show it, its fuzzer has to as well.
 */

const createStorage = (broken: Partial<ArrayAdapterParts> = {}) => {
  return async () => {
    const adapter = createArrayAdapter(broken)
    return { connect: () => adapter }
  }
}

/** The first case, of those whose names begin so, that an adapter fails. */
async function findFailing(broken: Partial<ArrayAdapterParts>, prefix = ''): Promise<string | undefined> {
  for (const one of adapterCases) {
    if (!one.name.startsWith(prefix)) continue
    try {
      await runCase(one, createStorage(broken))
    } catch {
      return one.name
    }
  }
  return undefined
}

const fuzz = (broken: Partial<ArrayAdapterParts>): Promise<string | undefined> =>
  fuzzAdapter(createStorage(broken), { stores: 60, queries: 100, seed: 1 }).then(
    () => undefined,
    (thrown: Error) => thrown.message,
  )

/** Leaves that are judged otherwise; `undefined` leaves one as it is. */
const judge = (
  judgeOtherwise: (leaf: Leaf, document: JsonObject) => boolean | undefined,
): Partial<ArrayAdapterParts> => ({
  compileLeaf: (leaf) => {
    const holds = compileFilter(leaf)
    return (document) => judgeOtherwise(leaf, document) ?? holds(document)
  },
})

const readerOf = once(({ path }: FieldRef) => compilePath(path))

const valueAt = ({ field }: Leaf, document: JsonObject): unknown => readerOf(field)(document)

/** Leaves that are judged as others. */
const judgeAs = (change: (leaf: Leaf) => Leaf | undefined): Partial<ArrayAdapterParts> => ({
  compileLeaf: (leaf) => compileFilter(change(leaf) ?? leaf),
})

const predicateOf = once((leaf: Leaf) => compileFilter(leaf))

const rangesHold = {
  lt: (order: number) => order < 0,
  lte: (order: number) => order <= 0,
  gt: (order: number) => order > 0,
  gte: (order: number) => order >= 0,
}

/** A range whose order of two values is another one. */
const judgeRanges = (
  compareOtherwise: (value: unknown, bound: unknown) => number | undefined,
): Partial<ArrayAdapterParts> =>
  judge((leaf, document) => {
    if (leaf.field.each || !(leaf.kind in rangesHold) || !('value' in leaf)) return undefined
    const order = compareOtherwise(valueAt(leaf, document), leaf.value)
    return order === undefined ? undefined : rangesHold[leaf.kind as keyof typeof rangesHold](order)
  })

const mapPattern = (pattern: Pattern, change: (part: Pattern) => Pattern): Pattern => {
  switch (pattern.kind) {
    case 'sequence':
    case 'choice':
      return { ...pattern, parts: pattern.parts.map((part) => mapPattern(part, change)) }
    case 'repeat':
      return { ...pattern, part: mapPattern(pattern.part, change) }
    default:
      return change(pattern)
  }
}

const judgePatterns = (change: (part: Pattern) => Pattern): Partial<ArrayAdapterParts> =>
  judgeAs((leaf) =>
    leaf.kind === 'match' ? { ...leaf, pattern: mapPattern(leaf.pattern, change) } : undefined,
  )

const anything = parsePattern('[\\s\\S]*', { ignoreCase: false })
const anyOne = parsePattern('[\\s\\S]', { ignoreCase: false })
const dot = JSON.stringify(parsePattern('.', { ignoreCase: false }))

const likePattern = (part: Pattern): Pattern => {
  if (part.kind !== 'text' || !/[%_]/.test(part.text)) return part
  const parts = [...part.text].map((text): Pattern => {
    if (text === '%') return anything
    return text === '_' ? anyOne : { kind: 'text', text }
  })
  return { kind: 'sequence', parts }
}

const lowerCase = (value: Ordered): Ordered => (typeof value === 'string' ? value.toLowerCase() : value)

const isScalar = (value: unknown): value is string | number | boolean =>
  value !== null && typeof value !== 'object'

type Mutant = readonly [what: string, broken: Partial<ArrayAdapterParts>]
type QueryMutant = readonly [what: string, prefix: string, broken: Partial<ArrayAdapterParts>]

/** What a random query can show. */
const queryMutants: readonly QueryMutant[] = [
  [
    'a sort orders texts by UTF-16',
    'order',
    {
      compareValues: (a, b, key) =>
        typeof a === 'string' && typeof b === 'string'
          ? (a < b ? -1 : a > b ? 1 : 0) * (key.descending ? -1 : 1)
          : soundParts.compareValues(a, b, key),
    },
  ],
  [
    'a range orders texts by UTF-16',
    'filter',
    judgeRanges((value, bound) =>
      typeof value === 'string' && typeof bound === 'string' && value !== bound
        ? value < bound
          ? -1
          : 1
        : undefined,
    ),
  ],
  [
    'a sort orders texts as a dictionary would',
    'order',
    {
      compareValues: (a, b, key) => {
        const order = soundParts.compareValues(lowerCase(a), lowerCase(b), key)
        return order === 0 ? soundParts.compareValues(a, b, key) : order
      },
    },
  ],
  [
    'missing values come last',
    'order',
    {
      compareValues: (a, b, key) =>
        (a === undefined) === (b === undefined)
          ? soundParts.compareValues(a, b, key)
          : a === undefined
            ? 1
            : -1,
    },
  ],
  [
    'true comes before false',
    'order',
    {
      compareValues: (a, b, key) =>
        soundParts.compareValues(a, b, key) * (typeof a === 'boolean' && typeof b === 'boolean' ? -1 : 1),
    },
  ],
  [
    'ties are always ordered by ascending _id',
    'order',
    {
      compareValues: (a, b, key) =>
        soundParts.compareValues(a, b, key.field.path === '_id' ? { ...key, descending: false } : key),
    },
  ],
  [
    'a sort takes values of another type for what they are',
    'order',
    { readValue: ({ path }, document) => compilePath(path)(document) as Ordered },
  ],
  [
    'an opposite leaves out documents without the field',
    'filter',
    {
      negate: (filter, isMatch, document) =>
        !isMatch &&
        !('field' in filter && valueAt(filter, document) === undefined && filter.kind !== 'present'),
    },
  ],
  ['texts in a pattern are those of LIKE', 'pattern', judgePatterns(likePattern)],
  [
    'a pattern looks at the whole text',
    'pattern',
    judgeAs((leaf) =>
      leaf.kind === 'match'
        ? {
            ...leaf,
            pattern: { kind: 'sequence', parts: [{ kind: 'start' }, leaf.pattern, { kind: 'end' }] },
          }
        : undefined,
    ),
  ],
  [
    'a dot finds a newline',
    'pattern',
    judgePatterns((part) => (JSON.stringify(part) === dot ? anyOne : part)),
  ],
  [
    'the ends of a text are those of a line',
    'pattern',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      if (
        leaf.kind !== 'match' ||
        typeof value !== 'string' ||
        leaf.field.each ||
        leaf.field.type !== 'string'
      )
        return undefined
      return value.split('\n').some((line) => predicateOf(leaf)({ [leaf.field.path]: line })) || undefined
    }),
  ],
  [
    'a pattern ignores case by lower case',
    'pattern',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      if (
        leaf.kind !== 'match' ||
        typeof value !== 'string' ||
        leaf.field.each ||
        leaf.field.type !== 'string'
      )
        return undefined
      // Only what has an upper case is asked again, as one that folds by itself would.
      return predicateOf(leaf)({ [leaf.field.path]: value.toLowerCase() }) || undefined
    }),
  ],
  [
    'a range turns texts into numbers',
    'filter: lt on number',
    judgeRanges((value, bound) =>
      typeof value === 'string' &&
      typeof bound === 'number' &&
      value.trim() !== '' &&
      !Number.isNaN(Number(value))
        ? Number(value) - bound
        : undefined,
    ),
  ],
  [
    'an equality turns values into texts',
    'filter',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      return leaf.kind === 'eq' && !leaf.field.each && isScalar(value) && value !== undefined
        ? String(value) === String(leaf.value)
        : undefined
    }),
  ],
  [
    'values of another type are there',
    'filter: present',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      return leaf.kind === 'present' && value !== undefined && value !== null ? true : undefined
    }),
  ],
  [
    'null is there',
    'filter: present',
    judge((leaf, document) =>
      leaf.kind === 'present' && valueAt(leaf, document) === null ? true : undefined,
    ),
  ],
  [
    'a path reaches into arrays',
    'filter',
    judge((leaf, document) => {
      const [first = '', ...rest] = leaf.field.path.split('.')
      const value = document[first]
      if (rest.length === 0 || !Array.isArray(value)) return undefined
      const inner = { ...leaf, field: { ...leaf.field, path: rest.join('.') } }
      return value.some(
        (element) => typeof element === 'object' && element !== null && compileFilter(inner)(element),
      )
    }),
  ],
  [
    'a condition reaches into an array that is none of elements',
    'filter',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      if (leaf.kind === 'present' || leaf.field.each || !Array.isArray(value)) return undefined
      return compileFilter({ ...leaf, field: { ...leaf.field, each: true } })(document)
    }),
  ],
  [
    'elements satisfy a condition only all together',
    'filter: eq on any',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      if (leaf.kind === 'present' || !leaf.field.each || !Array.isArray(value)) return undefined
      const isOne = compileFilter({ ...leaf, field: { ...leaf.field, path: 'list' } })
      return value.every((element) => isOne({ list: [element] }))
    }),
  ],
  [
    'a timestamp is any text',
    'filter: eq on timestamp',
    judgeAs((leaf) =>
      leaf.field.type === 'timestamp' ? { ...leaf, field: { ...leaf.field, type: 'string' } } : undefined,
    ),
  ],
  [
    'an integer is any number',
    'filter: eq on integer',
    judgeAs((leaf) =>
      leaf.field.type === 'integer' ? { ...leaf, field: { ...leaf.field, type: 'number' } } : undefined,
    ),
  ],
  [
    'numbers are kept to fifteen digits',
    'filter: eq on number',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      return leaf.kind === 'eq' &&
        typeof value === 'number' &&
        typeof leaf.value === 'number' &&
        holdsType(leaf.field.type)(value)
        ? Number(value.toPrecision(15)) === Number(leaf.value.toPrecision(15))
        : undefined
    }),
  ],
  [
    'texts are equal without the spaces at their end',
    'filter',
    judge((leaf, document) => {
      const value = valueAt(leaf, document)
      return leaf.kind === 'eq' &&
        leaf.field.type === 'string' &&
        typeof value === 'string' &&
        typeof leaf.value === 'string'
        ? compareText(value.trimEnd(), leaf.value.trimEnd()) === 0
        : undefined
    }),
  ],
  [
    'a page is cut before it is filtered',
    'order',
    {
      page: (documents, { skip, limit }, isMatch) =>
        documents.slice(skip, limit === null ? undefined : skip + limit).filter(isMatch),
    },
  ],
  [
    'a limit of nothing is none',
    'order',
    {
      page: (documents, query, isMatch) =>
        soundParts.page(documents, { ...query, limit: query.limit || null }, isMatch),
    },
  ],
]

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/** What random writes show. */
const stepMutants: readonly Mutant[] = [
  ['a write that fails keeps its first steps', { rollBack: (_, after) => after }],
  ['a replace asks for no version', { isCurrent: (stored) => stored !== undefined }],
  [
    'a replace of what is gone is none',
    { isCurrent: (stored, version) => !stored || stored._version === version },
  ],
  [
    'a required document may be in any version',
    { judgeRequired: (_, ...others) => soundParts.judgeRequired(undefined, ...others) },
  ],
  [
    'a required version is that from before the write',
    {
      judgeRequired: (version, now, before, isMatch) => {
        if (!now) return 'missing'
        return (version ?? before?._version) === before?._version && isMatch(now) ? undefined : 'changed'
      },
    },
  ],
  [
    'a document in another version than the required one is missing',
    {
      judgeRequired: (version, now, _, isMatch) =>
        !now || (version ?? now._version) !== now._version
          ? 'missing'
          : soundParts.judgeRequired(version, now, _, isMatch),
    },
  ],
  [
    'a required document need not match',
    { judgeRequired: (version, now, before) => soundParts.judgeRequired(version, now, before, () => true) },
  ],
  [
    'a required document matches as it was before the write',
    {
      judgeRequired: (version, now, before, isMatch) =>
        soundParts.judgeRequired(version, now, before, () => before !== undefined && isMatch(before)),
    },
  ],
  [
    'a required document that does not match is missing',
    {
      judgeRequired: (version, now, before, isMatch) =>
        now && !isMatch(now) ? 'missing' : soundParts.judgeRequired(version, now, before, isMatch),
    },
  ],
  [
    'a condition takes the place of the version',
    {
      judgeRequired: (version, now, before, isMatch) =>
        now && isMatch(now) && !isMatch({ _id: '?', _version: -1 })
          ? undefined
          : soundParts.judgeRequired(version, now, before, isMatch),
    },
  ],
  ['what is refused is not looked for', { refuses: () => false }],
  ['what a remove expects is not counted', { meets: () => true }],
]

/** What only cases of writes show. */
const writeMutants: readonly Mutant[] = [
  ['a value is looked for, and written later', { pause: turn }],
  [
    'uniqueness is without case',
    { keyOf: (index, document) => soundParts.keyOf(index, document)?.toLowerCase() },
  ],
  [
    'uniqueness binds missing values',
    {
      keyOf: ({ fields }, document) =>
        JSON.stringify(fields.map(({ path }) => compilePath(path)(document) ?? null)),
    },
  ],
  [
    'uniqueness binds values of another type',
    {
      keyOf: ({ fields }, document) => {
        const values = fields.map(({ path }) => compilePath(path)(document))
        return values.every((value) => value !== undefined && value !== null)
          ? JSON.stringify(values)
          : undefined
      },
    },
  ],
  ['the last index that is taken is named', { orderIndexes: (indexes) => [...indexes].reverse() }],
  ['a document is kept as it was passed in', { copy: (document) => document }],
  ['what is kept may change where it is handed out', { copy: (document) => structuredClone(document) }],
  ['an index over duplicates is left out', { describeDuplicates: () => undefined }],
  [
    'the error about duplicates tells them',
    {
      describeDuplicates: ({ fields }, document) =>
        `duplicates of ${fields.map(({ path }) => path).join()}: ${JSON.stringify(document)}`,
    },
  ],
  ['nothing is there after closing', { close: (data) => data.clear() }],
  [
    'the rest of a list is in another order',
    { nameRest: (documents) => soundParts.nameRest(documents).slice().reverse() },
  ],
  [
    'a document is lost between a list and its rest',
    { nameRest: (documents) => soundParts.nameRest(documents.slice(1)) },
  ],
  [
    'a list is bounded in characters',
    {
      countWithin: (documents, bytes) => {
        let held = 0
        const beyond = documents.findIndex((document, i) => {
          held += JSON.stringify(document).length
          return i > 0 && held > bytes
        })
        return beyond < 0 ? documents.length : beyond
      },
    },
  ],
  ['a snapshot sees later writes', { hold: (data) => data }],
  [
    'a snapshot returns a document twice',
    { nextOf: (sorted, after) => sorted.filter(({ _id }) => _id >= after).slice(0, 100) },
  ],
  [
    'a snapshot ends early',
    { nextOf: (sorted, after) => sorted.slice(0, 1000).filter(({ _id }) => _id > after) },
  ],
  [
    'a name of all objects is lost',
    {
      copy: (document) =>
        Object.assign(
          {},
          JSON.parse(JSON.stringify(document, (name, value) => (name === '__proto__' ? undefined : value))),
        ),
    },
  ],
]

const ofTheKit = (): string => '../../src/tools/testing/adapter/'

test('an adapter that is not broken passes every case', async () => {
  for (const one of adapterCases) await runCase(one, createStorage())
})

test('an adapter that is not broken answers all random queries', async () => {
  expect(await fuzz({})).toBeUndefined()
})

describe.each(choose(queryMutants, ofTheKit))('%s', (_, prefix, broken) => {
  test('fails a case', async () => expect(await findFailing(broken, prefix)).toBeDefined(), 60_000)

  test('is found by random queries, and shown by a small example', async () => {
    const message = await fuzz(broken)
    expect(message).toMatch(/seed: .*expected: .*actual: /s)
    expect(message?.match(/document: /g)?.length).toBeLessThanOrEqual(3)
  })
})

describe.each(choose(stepMutants, ofTheKit))('%s', (_, broken) => {
  test('fails a case', async () => expect(await findFailing(broken)).toBeDefined())

  test('is found by random writes, and shown by a small example', async () => {
    const message = await fuzz(broken)
    expect(message).toMatch(/seed: .*write: .*expected: .*actual: /s)
    expect(message?.match(/document: /g)?.length ?? 0).toBeLessThanOrEqual(1)
    expect(message?.match(/write: /g)?.length).toBe(1)
  })
})

test.each(choose(writeMutants, ofTheKit))('%s: fails a case', async (_, broken) => {
  expect(await findFailing(broken)).toBeDefined()
})

describe('a case that is skipped', () => {
  const register = (name: string): readonly string[] => {
    const names: string[] = []
    testAdapter({
      test: (registered) => names.push(registered),
      createStorage: createStorage(),
      skip: [{ case: name, reason: 'it cannot' }],
    })
    return names
  }

  test('is registered under a name that says so', () => {
    const [first = ''] = adapterCases.map(({ name }) => name)
    expect(register(first)).toContain(`${first} (skipped: it cannot)`)
    expect(register(first)).not.toContain(first)
    // Beside the cases, the fuzzers of queries and of groups.
    expect(register(first)).toHaveLength(adapterCases.length + 2)
  })

  test('must exist', () => expect(() => register('no such case')).toThrow(/no such case/))
})
