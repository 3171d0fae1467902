import { HOOKS } from '../../core/config/options/check-options.js'
import type { AnyHooks } from '../../core/hooks/types.js'
import { BOOLEAN, type Expectations } from '../../core/options.js'

/** Facts about callers that a configuration alone does not state (CONTRACT.md §8). */
export interface InsightOptions {
  /** Whether the host names the caller: then `$user` has any field, and roles have any name. Default: false. */
  readonly authenticate?: boolean
  /** Whether settings that production rejects are errors. Default: false. */
  readonly production?: boolean
  /** The `hooks` option of the service: the fields that they fill. The hooks run on a request that is explained. */
  readonly hooks?: AnyHooks
}

/** The expected type of each option. */
export const INSIGHT_OPTIONS: Expectations = { authenticate: BOOLEAN, production: BOOLEAN, hooks: HOOKS }
