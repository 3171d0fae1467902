import { compileConfig } from '../config/compile-config.js'
import type { ServicePlan } from '../config/plan.js'
import { requireOptions } from '../options.js'
import { INSIGHT_OPTIONS, type InsightOptions } from './options.js'

/** Compiles a configuration as a service would. Throws `ConfigError` with every fault, and with those of options. */
export function compileForInsight(config: unknown, options: InsightOptions = {}): ServicePlan {
  requireOptions(options, INSIGHT_OPTIONS)
  const { authenticate = false, production = false } = options
  return compileConfig(config, { production, hasAuthenticate: authenticate })
}
