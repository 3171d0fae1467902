import { compileConfig } from '../../core/config/compile-config.js'
import { judgeHooks } from '../../core/config/options/check-options.js'
import { type Fills, readFills } from '../../core/config/options/fills.js'
import type { ServicePlan } from '../../core/config/plan.js'
import { requireOptions } from '../../core/options.js'
import { INSIGHT_OPTIONS, type InsightOptions } from './options.js'

/** Compiles a configuration as a service does. Throws `ConfigError` with all errors in both arguments. */
export function compileForInsight(config: unknown, options: InsightOptions = {}): ServicePlan {
  requireOptions(options, INSIGHT_OPTIONS)
  return compileConfig(config, { ...compileOptionsOf(options), faults: judgeHooks(options, config) })
}

/**
 * Compiles one of several configurations that share hooks. The fields that hooks fill are not checked, because they may
 * exist only in another of these configurations. `fills` defaults to those of the hooks.
 */
export const compileAmong = (
  config: unknown,
  options: InsightOptions,
  fills: Fills = readFills(options.hooks),
): ServicePlan => compileConfig(config, { ...compileOptionsOf(options), fills, judgesFills: false })

const compileOptionsOf = ({ authenticate = false, production = false, hooks }: InsightOptions) => ({
  production,
  hasAuthenticate: authenticate,
  fills: readFills(hooks),
})
