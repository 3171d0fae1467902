import { compileConfig } from '../config/compile-config.js'
import type { ServicePlan } from '../config/plan.js'
import type { InsightOptions } from './options.js'

/** Compiles a configuration as a service would. Throws `ConfigError` with every fault. */
export const compileForInsight = (
  config: unknown,
  { authenticate = false, production = false }: InsightOptions = {},
): ServicePlan => compileConfig(config, { production, hasAuthenticate: authenticate })
