import { expect, test } from 'vitest'
import type * as Rights from '../../src/core/request/authorize.js'
import type { Call } from '../../src/core/request/call.js'
import type * as Create from '../../src/tools/openapi/create-describe.js'
import type * as Scopes from '../../src/tools/openapi/scope.js'
import { checkDescriptions } from '../support/described-laws.js'
import { checkTwins } from '../support/described-twins.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Descriptions broken on purpose: each tells a caller of what is not the caller's. */

const RIGHTS = '../../src/core/request/authorize.js'
const SCOPE = '../../src/tools/openapi/scope.js'
const CREATE_DESCRIBE = '../../src/tools/openapi/create-describe.js'

const breakRights =
  (break_: (all: Rights.Rights, own: Rights.Rights) => Rights.Rights) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof Rights
    const findRights: typeof real.findRights = (service, collection, reader) =>
      break_(real.findRights(service, collection, undefined), real.findRights(service, collection, reader))
    return { ...real, findRights }
  }

/** Keeps answers by another key than the right one. */
const keepBy =
  (keyOf: (call: Call) => string): Mutant[2] =>
  async (original) => {
    const real = (await original()) as typeof Create
    const createDescribe: typeof real.createDescribe = (service) => {
      const describe = real.createDescribe(service)
      const kept = new Map<string, ReturnType<typeof describe>>()
      return (call, found) => {
        const key = keyOf(call)
        const known = kept.get(key) ?? describe(call, found)
        kept.set(key, known)
        return known
      }
    }
    return { ...real, createDescribe }
  }

const mutants: readonly Mutant[] = [
  ['what is kept for one is told to everybody', CREATE_DESCRIBE, keepBy(() => '')],
  [
    'what is kept for one is told to all that are signed in',
    CREATE_DESCRIBE,
    keepBy(({ caller }) => String(caller === null)),
  ],
  [
    'what is kept goes by who asks, not by their roles',
    CREATE_DESCRIBE,
    keepBy(({ caller }) => caller?.id ?? ''),
  ],
  [
    'what is kept goes by how many roles one has',
    CREATE_DESCRIBE,
    keepBy(({ caller }) => String(caller ? Math.min(caller.roles.length, 1) : -1)),
  ],
  ['each reader is told what anybody may read', RIGHTS, breakRights(({ read }, own) => ({ ...own, read }))],
  [
    'each reader is told what anybody may create',
    RIGHTS,
    breakRights(({ create }, own) => ({ ...own, create })),
  ],
  [
    'each reader is told what anybody may change',
    RIGHTS,
    breakRights(({ update }, own) => ({ ...own, update })),
  ],
  [
    'roles are left out of account',
    CREATE_DESCRIBE,
    async (original) => {
      const real = (await original()) as typeof Create
      const createDescribe: typeof real.createDescribe = (service) => {
        const describe = real.createDescribe(service)
        return (call, found) => {
          const caller = call.caller && { ...call.caller, roles: ['editor', 'admin'] }
          return describe(Object.create(call, { caller: { value: caller } }) as typeof call, found)
        }
      }
      return { ...real, createDescribe }
    },
  ],
]

/** What two services have apart that a caller may not know is told by each of these. */
const differences: readonly Mutant[] = [
  [
    'a reference names its target, whether or not its reader may read that',
    SCOPE,
    async (original) => {
      const real = (await original()) as typeof Scopes
      const createScope: typeof real.createScope = (service, reader) => {
        const all = real.createScope(service, undefined)
        return { ...real.createScope(service, reader), findTarget: all.findTarget }
      }
      return { ...real, createScope }
    },
  ],
  [
    'a collection is described to everyone',
    RIGHTS,
    breakRights((all, own) => ({ ...own, read: own.read.length > 0 ? own.read : all.read })),
  ],
]

test.each(choose(mutants))('is noticed: %s', async (...mutant) => {
  const create = await createMutant(mutant)
  expect(await fails(checkDescriptions(200, create))).toBe(true)
})

test.each(choose(differences))('is noticed between two services: %s', async (...mutant) => {
  const create = await createMutant(mutant)
  expect(await fails(checkTwins(60, create))).toBe(true)
})

test('code that is not loaded is the error of the requests that wait for it, and of no other', async () => {
  let isBroken = true
  const broken: Mutant = [
    'the module is not there',
    CREATE_DESCRIBE,
    async (original) => {
      const real = (await original()) as typeof Create
      const createDescribe: typeof real.createDescribe = (service) => {
        if (isBroken) throw new Error('not loaded')
        return real.createDescribe(service)
      }
      return { ...real, createDescribe }
    },
  ]
  const create = await createMutant(broken)
  const errors: unknown[] = []
  const service = create(
    {
      collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
    },
    undefined,
    { openapi: true, logger: { info() {}, warn() {}, error: (...told) => errors.push(told) } },
  )
  const statusOf = async (path: string): Promise<number> =>
    (await service(new Request(`http://service.test${path}`))).status
  const asked = ['/_openapi.json', '/_openapi.json', '/notes'].map(statusOf)
  expect(await Promise.all(asked)).toEqual([500, 500, 200])
  expect(errors).toHaveLength(2)
  isBroken = false
  expect(await statusOf('/_openapi.json')).toBe(200)
})
