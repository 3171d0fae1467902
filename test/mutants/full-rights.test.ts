import { describe, expect, test } from 'vitest'
import type * as FullRights from '../../src/core/documents/write/full-rights.js'
import type * as CreateHooks from '../../src/core/hooks/create-hooks.js'
import type * as Unchanged from '../../src/core/hooks/require-unchanged.js'
import type * as HookPort from '../../src/core/hooks/routes/hook-port.js'
import type * as ReadOnly from '../../src/core/hooks/routes/read-only.js'
import type * as ShowChange from '../../src/core/hooks/show-change.js'
import type * as Identify from '../../src/core/http/identify.js'
import type * as Observe from '../../src/core/http/observe.js'
import type * as Respond from '../../src/core/http/respond.js'
import type * as Rules from '../../src/core/permissions/full-rights.js'
import { createMemoryAdapter } from '../../src/index.js'
import { FULL_RIGHTS_CONFIG, FULL_RIGHTS_HOOK_LAWS, FULL_RIGHTS_LAWS } from '../support/full-rights-laws.js'
import { checkNonInterference } from '../support/laws.js'
import { createTestService } from '../support/service.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Full rights broken on purpose: one of the laws has to notice each. */

const replacing =
  <T extends object>(replace: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...replace(real) }
  }

const RIGHTS = '../../src/core/documents/write/full-rights.js'
const RULES = '../../src/core/permissions/full-rights.js'
const IDENTIFY = '../../src/core/http/identify.js'
const RESPOND = '../../src/core/http/respond.js'
const PORT = '../../src/core/hooks/routes/hook-port.js'

/** Another rule of full rights. */
const ruledBy = (change: object) =>
  replacing<typeof Rules>(({ EVERYTHING }) => {
    const rules = new Map([['*', [{ ...EVERYTHING, ...change }]]])
    return { FULL_RIGHTS: { create: rules, read: rules, update: rules, delete: rules } }
  })

const mutants: readonly Mutant[] = [
  [
    'a query reaches full rights',
    RESPOND,
    async (original) => {
      const real = (await original()) as typeof Respond
      const { withFullRights } = await import('../../src/core/documents/write/full-rights.js')
      const { createRoutes } = await import('../../src/core/http/routes/find-route.js')
      const { ROUTES } = await import('../../src/core/http/routes/table.js')
      const createRespond: typeof real.createRespond = (service, options) => {
        const respond = real.createRespond(service, options)
        const full = withFullRights(service)
        const routes = createRoutes(ROUTES, full, { isDescribed: false, hasHealth: false })
        const whole = real.createRespond(full, { ...options, routes })
        return (incoming) => (incoming.target.includes('system=true') ? whole : respond)(incoming)
      }
      return { ...real, createRespond }
    },
  ],
  [
    'a role named system has full rights',
    IDENTIFY,
    replacing<typeof Identify>((real) => ({
      identifyAs: (caller) =>
        caller?.roles?.includes('system') ? real.identifyAsSystem(caller.id) : real.identifyAs(caller),
    })),
  ],
  ['full rights lack a property', RULES, ruledBy({ properties: { pick: null, omit: new Set(['status']) } })],
  ['full rights do not accept the role', RULES, ruledBy({ acceptsRole: false })],
  ['full rights set a value', RULES, ruledBy({ set: new Map([['status', 'open']]) })],
  [
    'full rights are those of the rules',
    RIGHTS,
    replacing<typeof FullRights>(() => ({ withFullRights: (service) => service })),
  ],
  [
    'registration is closed to full rights',
    RIGHTS,
    replacing<typeof FullRights>((real) => ({
      withFullRights(service, changed) {
        const full = real.withFullRights(service, changed)
        const users = full.plan.collections.get('users')
        return full.accounts && users ? { ...full, accounts: { ...full.accounts, users } } : full
      },
    })),
  ],
  [
    'full rights run no hooks',
    RIGHTS,
    replacing<typeof FullRights>((real) => ({
      withFullRights({ hooks: _, ...service }, changed) {
        return real.withFullRights(service, changed)
      },
    })),
  ],
  [
    'writes with full rights are made for nobody',
    IDENTIFY,
    replacing<typeof Identify>((real) => ({ identifyAsSystem: () => real.identifyAsSystem(undefined) })),
  ],
  [
    'answers to full rights may be stored',
    IDENTIFY,
    replacing<typeof Identify>((real) => ({
      identifyAsSystem: (as) => async (incoming, by) => ({
        ...(await real.identifyAsSystem(as)(incoming, by)),
        isSystem: false,
      }),
    })),
  ],
  [
    'observers are told of a host',
    '../../src/core/http/observe.js',
    replacing<typeof Observe>((real) => ({
      observeRequests: (respond, observe, logger) =>
        real.observeRequests(
          respond,
          (event) => observe({ ...event, caller: event.caller === 'system' ? 'host' : event.caller }),
          logger,
        ),
    })),
  ],
  [
    'a hook is told the caller of full rights as any other',
    '../../src/core/hooks/show-change.js',
    replacing<typeof ShowChange>((real) => ({ showSystem: real.showCaller })),
  ],
  [
    'the api of a hook has the rights of the write',
    PORT,
    replacing<typeof HookPort>((real) => ({
      createHookPort: (plain, options, openFull, fail) => {
        const port = real.createHookPort(plain, options, openFull, fail)
        return {
          ...port,
          openApi(call, reenter) {
            const api = port.openApi(call, reenter)
            return call.service.hasFullRights ? Object.assign(api.system, { system: api.system }) : api
          },
        }
      },
    })),
  ],
  [
    'api.system has the rights of the caller',
    PORT,
    replacing<typeof HookPort>((real) => ({
      createHookPort: (plain, options, _, fail) =>
        real.createHookPort(plain, options, () => ({ ...options, service: plain }), fail),
    })),
  ],
  [
    'api.system requires nothing',
    '../../src/core/hooks/routes/read-only.js',
    replacing<typeof ReadOnly>(() => ({ requireShown: (endpoint) => endpoint })),
  ],
  [
    'api.system requires nothing of what is absent',
    '../../src/core/hooks/require-unchanged.js',
    replacing<typeof Unchanged>((real) => ({
      async requireUnchanged(call, collection, id) {
        const stored = await call.store.own(collection.name).find(id)
        if (stored) await real.requireUnchanged(call, collection, id)
      },
    })),
  ],
  [
    'api.system writes',
    '../../src/core/hooks/routes/read-only.js',
    replacing<typeof ReadOnly>(() => ({ readOnly: (routes) => routes })),
  ],
  [
    'operations of full rights have the tags of api',
    '../../src/core/hooks/create-hooks.js',
    replacing<typeof CreateHooks>((real) => ({
      createHooks: (service, before, port) =>
        real.createHooks(service, before, {
          ...port,
          perform: (own, { system: _, ...operation }, api) => port.perform(own, operation, api),
        }),
    })),
  ],
]

describe('full rights', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    const open = (options = {}) =>
      createTestService(FULL_RIGHTS_CONFIG, { create, adapter: createMemoryAdapter(), ...options })
    let isNoticed = false
    for (const [, check] of [...FULL_RIGHTS_LAWS, ...FULL_RIGHTS_HOOK_LAWS])
      isNoticed ||= await fails(check(open))
    expect(isNoticed).toBe(true)
  })
})

/** Full rights, and what they leave in caches that others read. */
const leaks: readonly Mutant[] = [
  [
    'queries and pages of full rights are kept for others',
    RIGHTS,
    replacing<typeof FullRights>((real) => ({
      withFullRights: (service, changed) => ({
        ...real.withFullRights(service, changed),
        pages: service.pages,
        readQuery: service.readQuery,
      }),
    })),
  ],
]

describe('what full rights have read', () => {
  test.each(choose(leaks))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    expect(await fails(checkNonInterference(100, create))).toBe(true)
  })
})

test('the real full rights, taken through the same hands, pass', async () => {
  const create = await createMutant(['nothing is broken', RULES, ruledBy({})])
  for (const [, check] of [...FULL_RIGHTS_LAWS, ...FULL_RIGHTS_HOOK_LAWS])
    await check((options = {}) => createTestService(FULL_RIGHTS_CONFIG, { create, ...options }))
})
