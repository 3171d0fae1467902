import { describe, expect, test } from 'vitest'
import type * as ListDocuments from '../../src/core/documents/read/list-documents.js'
import type { Draft } from '../../src/core/documents/write/draft.js'
import type * as Merge from '../../src/core/documents/write/stages/merge.js'
import { readFields } from '../../src/core/documents/write/stored-document.js'
import type * as Written from '../../src/core/documents/write/written.js'
import { holdsImmutable } from '../../src/core/fields/schema/changes.js'
import type * as Constraints from '../../src/core/filter/constraint.js'
import { everything } from '../../src/core/filter/filter.js'
import { encodeText } from '../../src/core/json/base64url.js'
import { isEqualJson } from '../../src/core/json/equality.js'
import type * as Uuid from '../../src/core/json/uuid.js'
import type * as Grants from '../../src/core/permissions/grants.js'
import type * as ReadGate from '../../src/core/permissions/read-gate.js'
import type * as Views from '../../src/core/permissions/views.js'
import type * as WriteRules from '../../src/core/permissions/write-rules.js'
import type * as CompileAggregate from '../../src/core/query/compile-aggregate.js'
import type * as CompileQuery from '../../src/core/query/compile-query.js'
import type * as Condition from '../../src/core/query/condition.js'
import type * as Cursors from '../../src/core/query/paging/cursor.js'
import type * as QueryReader from '../../src/core/query/query-reader.js'
import type { LinkedQuery } from '../../src/core/query/query-reader.js'
import type * as References from '../../src/core/references/references.js'
import type * as KeptPages from '../../src/core/request/kept-pages.js'
import type * as Refusals from '../../src/core/request/refusals.js'
import { ignoredNames } from '../../src/core/request/refusals.js'
import { checkKept } from '../support/kept-answers.js'
import { checkLists, checkNonInterference } from '../support/laws.js'
import { checkWrites } from '../support/write-laws.js'
import { checkRole, checkWrite, roleCases, writeCases } from '../support/write-rules.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/**
 * Gates broken on purpose. Each is a way in which a service of this kind has leaked or been opened before; the suites
 * that guard the real one have to notice each of them.
 */

const CONSTRAINT = '../../src/core/filter/constraint.js'
const READ_GATE = '../../src/core/permissions/read-gate.js'
const COMPILE_AGGREGATE = '../../src/core/query/compile-aggregate.js'
const COMPILE_QUERY = '../../src/core/query/compile-query.js'
const CONDITION = '../../src/core/query/condition.js'
const UUID = '../../src/core/json/uuid.js'
const GRANTS = '../../src/core/permissions/grants.js'
const WRITE_RULES = '../../src/core/permissions/write-rules.js'
const LIST_DOCUMENTS = '../../src/core/documents/read/list-documents.js'
const MERGE = '../../src/core/documents/write/stages/merge.js'
const REFERENCES = '../../src/core/references/references.js'
const REFUSALS = '../../src/core/request/refusals.js'
const PREFER = '../../src/core/http/prefer.js'
const WRITTEN = '../../src/core/documents/write/written.js'
const CURSOR = '../../src/core/query/paging/cursor.js'
const QUERY_READER = '../../src/core/query/query-reader.js'
const KEPT_PAGES = '../../src/core/request/kept-pages.js'
const VIEWS = '../../src/core/permissions/views.js'

type Access = ReadGate.ReadAccess

/** A gate whose accesses are broken in one way. */
const breakAccess =
  (break_: (access: Access) => Partial<Access>) => async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof ReadGate
    return {
      ...real,
      createReadGate: (...args: Parameters<typeof real.createReadGate>): ReadGate.ReadGate => {
        const gate = real.createReadGate(...args)
        return (...who) => {
          const access = gate(...who)
          if (!access) return access
          const { storage, restrict, isReadable, find, isShownAlways, guard, isShown } = access
          const { show, write, keep, parsePattern, key, standing, isTimed } = access
          const whole = {
            storage,
            restrict,
            isReadable,
            find,
            isShownAlways,
            guard,
            show,
            write,
            keep,
            ...(key === undefined ? {} : { key }),
            isShown,
            standing,
            isTimed,
            parsePattern,
            paths: access.paths,
          }
          return { ...whole, ...break_(access) }
        }
      },
    }
  }

const readMutants: readonly Mutant[] = [
  [
    'a sort on a field that some documents hide is let through',
    READ_GATE,
    breakAccess(() => ({ isShownAlways: () => true })),
  ],
  ['a hidden field is compared all the same', READ_GATE, breakAccess(() => ({ guard: (leaf) => leaf }))],
  [
    'every field may be asked about',
    READ_GATE,
    breakAccess(() => ({ isShownAlways: () => true, guard: (leaf) => leaf })),
  ],
  ['the rows of a list are not restricted', READ_GATE, breakAccess(() => ({ restrict: (asked) => asked }))],
  [
    'a single document is read past its condition',
    READ_GATE,
    breakAccess(() => ({ isReadable: () => true })),
  ],
  [
    'a measure has values that are hidden',
    COMPILE_AGGREGATE,
    async (original) => {
      const real = (await original()) as typeof CompileAggregate
      return {
        ...real,
        compileAggregate: (...args: Parameters<typeof real.compileAggregate>) => {
          const asked = real.compileAggregate(...args)
          return { ...asked, measures: asked.measures.map((measure) => ({ ...measure, shown: everything })) }
        },
      }
    },
  ],
  [
    'a key is a value that is hidden',
    COMPILE_AGGREGATE,
    async (original) => {
      const real = (await original()) as typeof CompileAggregate
      return {
        ...real,
        compileAggregate: (...args: Parameters<typeof real.compileAggregate>) => {
          const asked = real.compileAggregate(...args)
          return { ...asked, by: asked.by.map((part) => ({ ...part, shown: everything })) }
        },
      }
    },
  ],
  [
    'a projection drops documents that lack the field',
    COMPILE_QUERY,
    async (original) => {
      const real = (await original()) as typeof CompileQuery
      return {
        ...real,
        compileQuery: (...args: Parameters<typeof real.compileQuery>): CompileQuery.Query => {
          const query = real.compileQuery(...args)
          const present = [...(query.projection?.keys() ?? [])].flatMap((path) => {
            const field = args[1].readable.find(path)?.ref
            return field ? [{ kind: 'present', field } as const] : []
          })
          return { ...query, filter: { kind: 'and', filters: [query.filter, ...present] } }
        },
      }
    },
  ],
  [
    'of a list that comes value by value, the last one counts',
    CONDITION,
    async (original) => {
      const real = (await original()) as typeof Condition
      return {
        ...real,
        readOperands: (...[field, operator, texts]: Parameters<typeof real.readOperands>) =>
          real.readOperands(field, operator, texts.slice(-1)),
      }
    },
  ],
  [
    'an id in upper case is compared as it is',
    UUID,
    async (original) => ({ ...((await original()) as typeof Uuid), lowerUuid: String }),
  ],
  [
    'a value that a query asks for takes the place of those that a rule allows',
    CONSTRAINT,
    async (original) => {
      const real = (await original()) as typeof Constraints
      return {
        ...real,
        join: (a: Constraints.Constraint, b: Constraints.Constraint) => ({
          ...real.join(a, b),
          values: b.values ?? a.values,
          excluded: b.excluded,
        }),
      }
    },
  ],
  [
    'a field that a query asks for counts as granted',
    CONSTRAINT,
    async (original) => {
      const real = (await original()) as typeof Constraints
      return {
        ...real,
        writeConditions: (...[constraint, given]: Parameters<typeof real.writeConditions>) =>
          given ? [] : real.writeConditions(constraint, given),
      }
    },
  ],
  [
    'a count is that of all documents that match, readable or not',
    LIST_DOCUMENTS,
    async (original) => {
      const real = (await original()) as typeof ListDocuments
      return {
        ...real,
        countDocuments: (...[call, access, filter]: Parameters<typeof real.countDocuments>) =>
          real.countDocuments(call, { ...access, restrict: (asked) => asked }, filter),
      }
    },
  ],
]

/** A list of which the place of the next page is broken in one way. */
const breakNext = (break_: (next: Next, all: number) => Next) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof ListDocuments
  return {
    ...real,
    listDocuments: async (...[call, reading]: Parameters<typeof real.listDocuments>) => {
      const { access, query } = reading
      const page = await real.listDocuments(call, reading)
      const whole = { ...access, restrict: (asked: typeof query.filter) => asked }
      const all = await real.countDocuments(call, whole, query.filter)
      return page.next ? { ...page, next: break_(page.next, all) } : page
    },
  }
}

type Next = NonNullable<ListDocuments.ListedPage['next']>

/** The place of the next page tells more than the documents before it. */
const placeMutants: readonly Mutant[] = [
  [
    'a place counts what is hidden, too',
    LIST_DOCUMENTS,
    breakNext(({ last, passed }, all) => ({ last, passed: passed + all })),
  ],
  [
    'a place tells how large its document is, with what is hidden',
    LIST_DOCUMENTS,
    breakNext(({ last, passed }) => ({ last, passed: passed + JSON.stringify(last).length })),
  ],
  [
    'a cursor holds more of its document than the sort',
    CURSOR,
    async (original) => {
      const real = (await original()) as typeof Cursors
      return {
        ...real,
        writeCursor: (...[sort, document, passed]: Parameters<typeof real.writeCursor>) =>
          real.writeCursor(sort, document, passed) + encodeText(JSON.stringify(document)),
      }
    },
  ],
]

/** What is computed for one request is kept for others that it is wrong for. */
const keepMutants: readonly Mutant[] = [
  [
    'compiled queries are kept by their text alone',
    QUERY_READER,
    async (original) => {
      const real = (await original()) as typeof QueryReader
      return {
        ...real,
        createQueryReader: (...args: Parameters<typeof real.createQueryReader>): QueryReader.ReadQuery => {
          const read = real.createQueryReader(...args)
          return (text, allowed, readable, following) =>
            read(text, allowed, Object.create(readable, { key: { value: 1 } }), following)
        },
      }
    },
  ],
  [
    'accesses are kept without the values of their variables',
    READ_GATE,
    async (original) => {
      const real = (await original()) as typeof ReadGate
      return {
        ...real,
        createReadGate: (...args: Parameters<typeof real.createReadGate>): ReadGate.ReadGate => {
          const gate = real.createReadGate(...args)
          const kept = new Map<string, Access | null>()
          return (asking) => {
            const key = JSON.stringify(asking.caller?.roles)
            const access = kept.get(key) ?? gate(asking)
            kept.set(key, access)
            return access
          }
        },
      }
    },
  ],
  [
    'accesses are kept though they depend on the time',
    READ_GATE,
    async (original) => {
      const real = (await original()) as typeof ReadGate
      return {
        ...real,
        createReadGate: (...args: Parameters<typeof real.createReadGate>): ReadGate.ReadGate => {
          const gate = real.createReadGate(...args)
          const kept = new Map<string, Access | null>()
          return (asking) => {
            const key = JSON.stringify(asking.caller)
            const access = kept.get(key) ?? gate(asking)
            kept.set(key, access)
            return access
          }
        },
      }
    },
  ],
  [
    'views are kept without the rules that a document matches',
    VIEWS,
    async (original) => {
      const real = (await original()) as typeof Views
      return {
        ...real,
        createViews: (...args: Parameters<typeof real.createViews>): Views.FindView => {
          const find = real.createViews(...args)
          let kept: Views.View | undefined
          return (matching) => {
            kept ??= find(matching)
            return kept
          }
        },
      }
    },
  ],
  [
    'pages are kept whatever their documents are by now',
    KEPT_PAGES,
    async (original) => {
      const real = (await original()) as typeof KeptPages
      return {
        ...real,
        createKeptPages: (): KeptPages.KeptPages => {
          const pages = new Map<LinkedQuery, KeptPages.KeptPage>()
          return {
            find: (query) => pages.get(query),
            keep: (query, page) => void (Object.isFrozen(query) && pages.set(query, page)),
          }
        },
      }
    },
  ],
]

const writeMutants: readonly Mutant[] = [
  [
    'two write rules are mixed',
    WRITE_RULES,
    async (original) => {
      const real = (await original()) as typeof WriteRules
      return {
        ...real,
        selectWriteRules: (...args: Parameters<typeof real.selectWriteRules>) => {
          const rules = real.selectWriteRules(...args)
          const [first] = rules
          if (!first || rules.length < 2) return rules
          const pick = new Set(rules.flatMap(({ properties }) => [...(properties.pick ?? [])]))
          return [{ ...first, properties: { pick, omit: new Set<string>() } }]
        },
      }
    },
  ],
  [
    'the role field comes in through true of anyone',
    WRITE_RULES,
    async (original) => {
      const real = (await original()) as typeof WriteRules
      return {
        ...real,
        acceptsProperty: (...[rule, name, fields]: Parameters<typeof real.acceptsProperty>) =>
          real.acceptsProperty(rule, name, { ...fields, roleField: null }),
      }
    },
  ],
  [
    'an empty pick restricts nothing',
    GRANTS,
    async (original) => {
      const real = (await original()) as typeof Grants
      return {
        ...real,
        includesProperty: ({ pick, omit }: Grants.PropertySet, name: string) =>
          real.includesProperty({ pick: pick?.size ? pick : null, omit }, name),
      }
    },
  ],
  [
    'everyone decides before a role',
    WRITE_RULES,
    async (original) => {
      const real = (await original()) as typeof WriteRules
      return {
        ...real,
        selectWriteRules: (mentions: Parameters<typeof real.selectWriteRules>[0]) =>
          real.selectWriteRules(mentions, null),
      }
    },
  ],
  [
    'a set that lacks its value sets nothing',
    WRITE_RULES,
    async (original) => {
      const real = (await original()) as typeof WriteRules
      return { ...real, bindSet: (...args: Parameters<typeof real.bindSet>) => real.bindSet(...args) ?? {} }
    },
  ],
]

type Before = NonNullable<Draft['before']>

/** An update whose draft is broken in one way before it is merged. */
const breakDraft =
  (break_: (draft: Draft, before: Before) => Partial<Draft>) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as typeof Merge
    const judge: typeof real.merge.judge = (draft) => {
      if (draft.before) Object.assign(draft, break_(draft, draft.before))
      return real.merge.judge?.(draft)
    }
    return { ...real, merge: { ...real.merge, judge } }
  }

/** Something that a body or a rule gives to a field that its caller may not read. */
interface Given {
  readonly field: Draft['collection']['fields'][number]
  readonly value: unknown
  readonly stored: unknown
  readonly mode: Draft['write']['operation']
  /** By the rule, not by the body. */
  readonly isSet: boolean
}

/** An update that is judged on some of what its caller may not read. */
const judgeHidden = (isJudged: (given: Given) => boolean) =>
  breakDraft((draft, before) => {
    const { collection, rule, kept, write } = draft
    const { stored, shown } = before
    const { operation: mode } = write
    const isShown = draft.isShown.bind(draft)
    const given: { readonly [name: string]: unknown } = { ...kept.body, ...Object.fromEntries(rule.set) }
    const seen = collection.fields
      .filter(({ name }) => Object.hasOwn(given, name) && !isShown(name))
      .filter((field) => {
        const { name } = field
        return isJudged({ field, value: given[name], stored: stored[name], mode, isSet: rule.set.has(name) })
      })
      .map(({ name }) => name)
    const there = seen.filter((name) => Object.hasOwn(stored, name))
    return {
      isShown: (name) => seen.includes(name) || isShown(name),
      before: {
        ...before,
        shown: { ...shown, ...Object.fromEntries(there.map((name) => [name, stored[name]])) },
      },
    }
  })

const isObject = ({ field }: Given): boolean => field.type === 'object'

/** Worlds of `checkWrites` that show one of these: asked about first, and all the others only where they no longer do. */
const TELLING: readonly string[] = ['24', '82', '83']

const updateMutants: readonly Mutant[] = [
  [
    'a PATCH compares what is set once inside a hidden object',
    MERGE,
    judgeHidden((given) => given.mode === 'patch' && isObject(given) && holdsImmutable(given.field)),
  ],
  [
    'a PUT compares what is set once inside a hidden object',
    MERGE,
    judgeHidden((given) => given.mode === 'put' && isObject(given) && holdsImmutable(given.field)),
  ],
  [
    'what a hidden object requires may be there already',
    MERGE,
    judgeHidden((given) => given.mode === 'patch' && isObject(given) && !holdsImmutable(given.field)),
  ],
  [
    'the hidden value itself is not judged, though others like it are refused',
    MERGE,
    judgeHidden(({ field, value, stored }) => !holdsImmutable(field) && isEqualJson(value, stored)),
  ],
  [
    'what is required and hidden may be removed where it is not there',
    MERGE,
    judgeHidden(({ value, field }) => value === null && field.definition.required === true),
  ],
  [
    'a set compares what is set once and hidden',
    MERGE,
    judgeHidden(({ isSet, field }) => isSet && holdsImmutable(field)),
  ],
  [
    'a hidden reference that is there already is not judged',
    REFERENCES,
    async (original) => {
      const real = (await original()) as typeof References
      const judge: typeof real.references.judge = (draft) => {
        const { before, seen } = draft
        if (before) draft.seen = { ...seen, before: readFields(before.stored) }
        const verdict = real.references.judge?.(draft)
        draft.seen = seen
        return verdict
      }
      return { ...real, references: { ...real.references, judge } }
    },
  ],
  [
    'what is no longer declared makes a value another one',
    MERGE,
    breakDraft((_draft, { stored, shown, ...before }) => {
      const values = Object.fromEntries(Object.keys(shown).map((name) => [name, stored[name]]))
      return { before: { ...before, stored, shown: { ...shown, ...values, _id: stored._id } } }
    }),
  ],
  [
    'what is hidden is named as ignored',
    WRITTEN,
    async (original) => {
      const real = (await original()) as typeof Written
      return {
        ...real,
        prepareWritten: (...[draft, document]: Parameters<typeof real.prepareWritten>) => {
          const written = real.prepareWritten(draft, document)
          const hidden = Object.keys(readFields(document)).filter(
            (name) => !written.text.includes(`"${name}":`),
          )
          return { ...written, ignored: [...written.ignored, ...hidden] }
        },
      }
    },
  ],
  [
    'a strict request is told that something hidden is there',
    MERGE,
    breakDraft((draft, { stored }) => {
      const hidden = Object.keys(readFields(stored)).filter((name) => !draft.isShown(name))
      if (draft.call.isStrict && hidden.length > 0) throw ignoredNames(['hidden'])
      return {}
    }),
  ],
  [
    'a strict request is told of the first name alone',
    REFUSALS,
    async (original) => {
      const real = (await original()) as typeof Refusals
      return { ...real, ignoredNames: (names: readonly string[]) => real.ignoredNames(names.slice(0, 1)) }
    },
  ],
  [
    'a strict request is like any other',
    PREFER,
    async (original) => ({ ...((await original()) as object), prefersStrict: () => false }),
  ],
  [
    'the size of what is hidden counts',
    WRITTEN,
    async (original) => {
      const real = (await original()) as typeof Written
      return {
        ...real,
        prepareWritten: (...[draft, document]: Parameters<typeof real.prepareWritten>) => {
          draft.given = { ...readFields(document), ...draft.given }
          return real.prepareWritten(draft, document)
        },
      }
    },
  ],
]

test('the real gates, taken through the same hands, pass', async () => {
  const create = await createMutant(['nothing is broken', READ_GATE, breakAccess(() => ({}))])
  const paged = await createMutant(['nothing is broken', LIST_DOCUMENTS, breakNext((next) => next)])
  await checkNonInterference(20, paged)
  await checkLists(20, create)
  await checkNonInterference(20, create)
  await checkKept({ create, rounds: 1 })
  for (const broken of [breakDraft(() => ({})), judgeHidden(() => false)]) {
    const unbroken = await createMutant(['nothing is broken', MERGE, broken])
    for (const world of TELLING) await checkWrites(world, { create: unbroken })
  }
  for (const writeCase of writeCases) await checkWrite(writeCase, create)
  for (const roleCase of roleCases) await checkRole(roleCase, create)
})

describe('reading', () => {
  test.each(choose([...readMutants, ...placeMutants]))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    const isFound =
      (await fails(checkLists(20, create))) ||
      (await fails(checkNonInterference(20, create))) ||
      (await fails(checkLists(400, create))) ||
      (await fails(checkNonInterference(200, create)))
    expect(isFound).toBe(true)
  })
})

describe('keeping', () => {
  test.each(choose(keepMutants))(
    '%s: noticed',
    async (...mutant) => {
      const create = await createMutant(mutant)
      expect(await fails(checkKept({ create, rounds: 2 }))).toBe(true)
    },
    240_000,
  )
})

describe('writing', () => {
  test.each(choose(writeMutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    const results = await Promise.all([
      ...writeCases.map((writeCase) => fails(checkWrite(writeCase, create))),
      ...roleCases.map((roleCase) => fails(checkRole(roleCase, create))),
    ])
    expect(results).toContain(true)
  })
})

describe('updating', () => {
  test.each(choose(updateMutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    for (const world of TELLING) if (await fails(checkWrites(world, { create }))) return
    expect(await fails(checkWrites(300, { create }))).toBe(true)
  })
})
