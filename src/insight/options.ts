import { HOOKS } from '../config/options/check-options.js'
import type { AnyHooks } from '../hooks.js'
import { BOOLEAN, type Expectations } from '../options.js'

/** What a configuration alone does not say about its callers (CONTRACT.md §8). */
export interface InsightOptions {
  /** Whether the host says who calls: then `$user` has any field, and roles are whatever it says. Default false. */
  readonly authenticate?: boolean
  /** Whether what production refuses is a fault. Default false. */
  readonly production?: boolean
  /** The hooks of the service, as its option: what they say that they fill. A request that is explained asks them. */
  readonly hooks?: AnyHooks
}

/** What each of them must be. */
export const INSIGHT_OPTIONS: Expectations = { authenticate: BOOLEAN, production: BOOLEAN, hooks: HOOKS }
