import type { WarningReport } from '../json/report.js'
import { USERS } from '../schema/names.js'
import type { AuthConfig, Config } from '../types.js'
import type { ServicePlan } from './plan.js'

/**
 * The keys that have an effect only on the service's own accounts; the other keys also apply to callers of the host.
 */
const OF_ACCOUNTS: readonly (keyof AuthConfig)[] = [
  'register',
  'sessionDays',
  'sessions',
  'cost',
  'resetMinutes',
]

const OF_CHANGES = ['subscribers', 'changesHours', 'changesBytes'] as const

/** Warns of keys that are set and have no effect. */
export function warnOfIdleKeys(
  { auth, limits }: Pick<Config, 'auth' | 'limits'>,
  plan: Pick<ServicePlan, 'auth' | 'log'>,
  report: WarningReport,
): void {
  const warn = (
    keys: readonly string[],
    set: object | undefined,
    place: WarningReport,
    why: string,
  ): void => {
    for (const key of keys)
      if (Object.hasOwn(set ?? {}, key)) place.at(key).fault('no_effect', `changes nothing: ${why}`)
  }
  if (plan.auth === null)
    warn(OF_ACCOUNTS, auth, report.at('auth'), `"${USERS}" keeps no accounts, because it has no hash field`)
  if (plan.log === null) warn(OF_CHANGES, limits, report.at('limits'), 'no collection has "changes": true')
}
