import { describe, expect, test } from 'vitest'
import type * as Fills from '../../src/core/config/options/fills.js'
import type { Collection } from '../../src/core/config/plan.js'
import type * as Drop from '../../src/core/documents/write/stages/drop.js'
import type * as Validate from '../../src/core/documents/write/stages/validate.js'
import { ServiceError } from '../../src/core/errors.js'
import type { BodyValidator } from '../../src/core/fields/schema/validator.js'
import type * as ApplySet from '../../src/core/hooks/apply-set.js'
import type * as OwnRight from '../../src/core/hooks/own-right.js'
import type * as AskHook from '../../src/core/hooks/where-hooked.js'
import type { JsonSchema } from '../../src/core/json/json-schema.js'
import type * as Components from '../../src/tools/openapi/components.js'
import { FILL_LAWS, FILLS, opener } from '../support/fill-laws.js'
import { IN_MEMORY } from '../support/hook-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Hooks that fill required fields, broken on purpose: one of the laws has to notice each. */

const replacing =
  <T extends object>(replace: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...replace(real) }
  }

/** A validator that requires nothing of what a hook fills. */
const forgiving = ({ fills, validate }: Collection): BodyValidator =>
  Object.assign(() => [], {
    inSlices: ((body, slices, { isRelevant = () => true, ...options } = {}) =>
      validate.inSlices(body, slices, {
        ...options,
        isRelevant: (fault) =>
          !(fault.code === 'required' && fills.has(fault.path.slice(1))) && isRelevant(fault),
      })) satisfies BodyValidator['inSlices'],
  })

/** Bodies are described in another way. */
const describing = (change: (schema: JsonSchema, name: string) => JsonSchema) =>
  replacing<typeof Components>((real) => ({
    createComponents() {
      const components = real.createComponents()
      return {
        ...components,
        refer: (kind, name, make) => components.refer(kind, name, () => change(make(), name)),
      }
    },
  }))

const COMPONENTS = '../../src/tools/openapi/components.js'

const mutants: readonly Mutant[] = [
  [
    'what a hook leaves out is stored without it',
    '../../src/core/hooks/apply-set.js',
    replacing<typeof ApplySet>((real) => ({
      applySet: (call, setting, set) =>
        real.applySet(
          call,
          { ...setting, collection: { ...setting.collection, validate: forgiving(setting.collection) } },
          set,
        ),
    })),
  ],
  [
    'what a hook leaves out is a fault of the body',
    '../../src/core/hooks/where-hooked.js',
    replacing<typeof AskHook>((real) => ({
      askHook: (call, write) =>
        real.askHook(call, write)?.catch(() => {
          throw new ServiceError('validation_failed', 'The body is not valid.')
        }),
    })),
  ],
  [
    'a hook that fills nothing is not looked at again',
    '../../src/core/hooks/where-hooked.js',
    replacing<typeof AskHook>((real) => ({
      askHook: (call, write) =>
        real.askHook(call, { ...write, collection: { ...write.collection, fills: new Set() } }),
    })),
  ],
  [
    'what hooks add is filled by nobody, and not required either',
    '../../src/core/hooks/own-right.js',
    replacing<typeof OwnRight>((real) => ({
      createOwnRight(service) {
        const inOwnRight = real.createOwnRight(service)
        return (reportTo, blame) => {
          const own = inOwnRight(reportTo, blame)
          for (const [name, collection] of own.service.plan.collections)
            Object.assign(collection, { fills: service.plan.collections.get(name)?.fills })
          return own
        }
      },
    })),
  ],
  [
    'every required field counts as filled',
    '../../src/core/config/options/fills.js',
    replacing<typeof Fills>((real) => ({
      selectFills: (fields) =>
        real.selectFills(
          fields,
          fields.map(({ name }) => name),
        ),
    })),
  ],
  [
    'fields are filled in other collections alone',
    '../../src/core/config/options/fills.js',
    replacing<typeof Fills>((real) => ({
      selectFills: (fields, names) =>
        real.selectFills(fields, fields.some(({ name }) => name === 'email') ? [] : names),
    })),
  ],
  [
    'nobody may give what a hook fills',
    '../../src/core/documents/write/stages/drop.js',
    replacing<typeof Drop>((real) => ({
      drop: {
        ...real.drop,
        judge(draft) {
          const verdict = real.drop.judge?.(draft)
          const given = Object.entries(draft.given).filter(([name]) => !draft.collection.fills.has(name))
          if (!draft.before) draft.given = Object.fromEntries(given)
          return verdict
        },
      },
    })),
  ],
  [
    'what a writer gives of it is not judged',
    '../../src/core/documents/write/stages/validate.js',
    replacing<typeof Validate>((real) => ({
      faults: {
        ...real.faults,
        judge(draft) {
          const { fills } = draft.collection
          const isJudged = draft.before || draft.faults.some(({ path }) => !fills.has(path.slice(1)))
          return isJudged ? real.faults.judge?.(draft) : undefined
        },
      },
    })),
  ],
  [
    'an update may remove what a hook fills',
    '../../src/core/documents/write/stages/validate.js',
    replacing<typeof Validate>((real) => ({
      validateUpdate: {
        ...real.validateUpdate,
        judge(draft) {
          const { collection } = draft
          Object.assign(draft, { collection: { ...collection, validate: forgiving(collection) } })
          return real.validateUpdate.judge?.(draft)
        },
      },
    })),
  ],
  [
    'a body that replaces is described as one that creates',
    COMPONENTS,
    describing((schema, name) =>
      name === 'tickets.replace'
        ? { ...schema, required: (schema.required as string[]).slice(0, 1) }
        : schema,
    ),
  ],
  [
    'what is filled is described to whoever creates',
    COMPONENTS,
    describing((schema, name) =>
      name === 'tickets.create' ? { ...schema, description: `A hook gives ${FILLS.tickets}.` } : schema,
    ),
  ],
]

describe('what hooks fill', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    const open = opener({ ...IN_MEMORY, create })
    const noticed: boolean[] = []
    for (const [, check] of FILL_LAWS) noticed.push(await fails(check(open)))
    expect(noticed).toContain(true)
  })
})

test('the real hooks, taken through the same hands, pass', async () => {
  for (const mutant of [
    ['nothing is broken', '../../src/core/hooks/where-hooked.js', replacing<typeof AskHook>(() => ({}))],
    ['nothing is described otherwise', COMPONENTS, describing((schema) => schema)],
  ] satisfies readonly Mutant[]) {
    const create = await createMutant(mutant)
    for (const [, check] of FILL_LAWS) await check(opener({ ...IN_MEMORY, create }))
  }
})
