import { HOOKS } from '../../core/config/options/check-options.js'
import type { AnyHooks } from '../../core/hooks/types.js'
import { BOOLEAN, type Expectations } from '../../core/options.js'

/** Facts about the service that the configuration alone does not state (CONTRACT.md §8). */
export interface InsightOptions {
  /** Whether the host identifies callers. Then `$user` may have any field, and roles any name. Default: false. */
  readonly authenticate?: boolean
  /** Whether settings that are rejected in production are errors. Default: false. */
  readonly production?: boolean
  /** The `hooks` option of the service. It states the fields that hooks fill. `explainRequest` also runs them. */
  readonly hooks?: AnyHooks
}

/** The expected type of each option. */
export const INSIGHT_OPTIONS: Expectations = { authenticate: BOOLEAN, production: BOOLEAN, hooks: HOOKS }
