import { compileConfig } from '../config/compile-config.js'
import { judgeHooks } from '../config/options/check-options.js'
import { readFills } from '../config/options/fills.js'
import type { ServicePlan } from '../config/plan.js'
import { requireOptions } from '../options.js'
import { INSIGHT_OPTIONS, type InsightOptions } from './options.js'

/** Compiles a configuration as a service would. Throws `ConfigError` with every fault, and with those of options. */
export function compileForInsight(config: unknown, options: InsightOptions = {}): ServicePlan {
  requireOptions(options, INSIGHT_OPTIONS)
  return compileConfig(config, { ...compileOptionsOf(options), faults: judgeHooks(options, config) })
}

/** The same of one of several configurations that share hooks: what hooks fill may be a field of another. */
export const compileAmong = (config: unknown, options: InsightOptions): ServicePlan =>
  compileConfig(config, { ...compileOptionsOf(options), judgesFills: false })

const compileOptionsOf = ({ authenticate = false, production = false, hooks }: InsightOptions) => ({
  production,
  hasAuthenticate: authenticate,
  fills: readFills(hooks),
})
