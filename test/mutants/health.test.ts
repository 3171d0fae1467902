import { expect, test } from 'vitest'
import type * as Routes from '../../src/core/http/routes/health.js'
import type * as Stores from '../../src/core/request/store.js'
import type * as Monitors from '../../src/core/start/health.js'
import type { Health } from '../../src/index.js'
import { createCollectionService } from '../../src/index.js'
import { checkProbes } from '../support/health-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** What answers probes, broken on purpose. */

type Monitor = typeof Monitors.HealthMonitor
type Parts = ConstructorParameters<Monitor>[0]

/** A monitor whose checks are those of another one. */
const brokenMonitor = (
  what: string,
  check: (Real: Monitor, parts: Parts) => () => Promise<Health>,
): Mutant => [
  what,
  '../../src/core/start/health.js',
  async (original) => {
    const { HealthMonitor: Real } = (await original()) as typeof Monitors
    return {
      HealthMonitor: class {
        readonly check: () => Promise<Health>
        constructor(parts: Parts) {
          this.check = check(Real, parts)
        }
      },
    }
  },
]

const brokenRoutes = (what: string, broken: (real: typeof Routes) => Partial<typeof Routes>): Mutant => [
  what,
  '../../src/core/http/routes/health.js',
  async (original) => {
    const real = (await original()) as typeof Routes
    return { ...real, ...broken(real) }
  },
]

const mutants: readonly Mutant[] = [
  brokenMonitor('every probe asks the storage', (Real, parts) => () => new Real(parts).check()),
  brokenMonitor('no probe asks the storage', () => async () => ({ status: 'ok', checks: [] })),
  brokenMonitor(
    'a service that closes is ready',
    (Real, parts) =>
      new Real({
        ...parts,
        life: {
          ...parts.life,
          state: () => (parts.life.state() === 'closing' ? 'open' : parts.life.state()),
        },
      }).check,
  ),
  brokenMonitor('a storage with documents is not ready', (Real, parts) => async () => {
    const health = await new Real(parts).check()
    const found = await parts
      .createStore({ signal: AbortSignal.any([]), onOver: () => () => {}, enter() {} })
      .own('notes')
      .list({})
    return found.length > 0 ? { ...health, status: 'failing' } : health
  }),
  [
    'a write that failed is forgotten',
    '../../src/core/request/store.js',
    async (original) => ({
      ...((await original()) as typeof Stores),
      LastWrite: class {
        hasFailed = false
        readonly fail = (thrown: unknown): never => {
          throw thrown
        }
      },
    }),
  ],
  brokenRoutes('live asks the storage', ({ ready }) => ({ live: ready })),
  brokenRoutes('ready asks nothing', ({ live }) => ({ ready: live })),
  brokenRoutes('ready tells everyone its checks', ({ ready }) => ({
    ready: {
      ...ready,
      run: (call, place, mount) =>
        ready.run(call, place, {
          ...mount,
          ...(mount.health ? { health: { ...mount.health, isDetailed: true } } : {}),
        }),
    },
  })),
]

test('the library itself passes', () => checkProbes(createCollectionService))

test.each(choose(mutants).map((one) => [one[0], one] as const))('%s: caught', async (_, mutant) => {
  expect(await fails(checkProbes(await createMutant(mutant)))).toBe(true)
})
