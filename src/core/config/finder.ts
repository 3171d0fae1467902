import type { Report } from '../json/report.js'
import type { ServicePlan } from './plan.js'

/** The codes of the findings at start (CONTRACT.md §5, "Warnings"). The command `check` has more. */
export type WarningCode =
  | 'open_to_everyone'
  | 'case_sensitive_identifier'
  | 'open_secret'
  | 'unlimited_list'
  | 'plain_form_on_users'
  | 'unfillable_field'
  | 'less_than_everyone'
  | 'impossible_role'
  | 'match_tells'
  | 'unset_widens'
  | 'claim_without_index'
  | 'self_given_claim'
  | 'unbounded_claim'
  | 'unverified_identifier'
  | 'reusable_id'
  | 'no_effect'

/** A likely mistake in a valid configuration. */
export interface Found<Code extends string> {
  /** A stable code in lower_snake_case (CONTRACT.md §8, "Check"). */
  readonly code: Code
  /** A JSON pointer into the configuration. */
  readonly path: string
  readonly message: string
}

/** Reports findings. `mend` says how to fix the mistake, if this differs from the usual advice for the code. */
export type FindingReport<Code extends string = WarningCode> = Report<
  [code: Code, message: string, mend?: string]
>

/** Facts about the host on which the faults and the findings of a configuration depend. */
export interface HostFacts {
  /** Whether a collection that is open to everyone is a fault. */
  readonly production: boolean
  /** Whether the host application authenticates callers. If so, `$user` may have any field. */
  readonly hasAuthenticate: boolean
}

/** A valid configuration, and the facts about its host. */
export interface FinderScope extends HostFacts {
  readonly plan: ServicePlan
}

/** Reports the findings of one kind. */
export type Finder<Scope extends FinderScope = FinderScope, Code extends string = WarningCode> = (
  scope: Scope,
  report: FindingReport<Code>,
) => void
