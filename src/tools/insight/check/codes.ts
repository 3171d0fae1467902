import type { WarningCode } from '../../../core/config/finder.js'

/**
 * The severity of a finding.
 * - `error`: the service does not start.
 * - `warning`: almost surely a mistake.
 * - `note`: may be intended.
 */
export type Level = 'error' | 'warning' | 'note'

interface FindingKind {
  readonly level: Level
  /** How to fix the mistake. */
  readonly mend: string
}

/** All finding codes (CONTRACT.md §8, "Check"). Codes are stable. */
export const CODES = {
  invalid_json: { level: 'error', mend: 'Correct the JSON text.' },
  invalid_config: { level: 'error', mend: 'Correct this part. The service does not start with it.' },
  open_to_everyone: {
    level: 'warning',
    mend: 'Grant only the necessary operations, or grant this to a role instead.',
  },
  case_sensitive_identifier: { level: 'warning', mend: 'Add "lowercase": true to the field.' },
  open_secret: { level: 'warning', mend: 'Exclude the secret with "omit".' },
  unlimited_list: { level: 'warning', mend: 'Set limits.defaultLimit or limits.maxLimit.' },
  plain_form_on_users: {
    level: 'warning',
    mend: 'Write { "create": … } instead, and add the intended read rights.',
  },
  unfillable_field: {
    level: 'warning',
    mend: 'Let the rule accept or "set" the field, give the field a default, or do not require it.',
  },
  less_than_everyone: {
    level: 'warning',
    mend: 'Grant the subject the rights of "*", or remove these rights from "*" too.',
  },
  impossible_role: {
    level: 'warning',
    mend: 'Correct the name of the role, or let the role field accept it.',
  },
  match_tells: {
    level: 'warning',
    mend: 'Let the subject read this field too, or do not let it read the documents.',
  },
  unset_widens: {
    level: 'warning',
    mend: 'Add the condition that the reference exists, or choose another "onDelete".',
  },
  claim_without_index: {
    level: 'warning',
    mend: 'Add an index that begins with the fields that the claim compares.',
  },
  self_given_claim: {
    level: 'warning',
    mend: 'Require a claim of the caller in "check", or use a reference with a "match".',
  },
  unbounded_claim: {
    level: 'warning',
    mend: 'Let callers create these documents only for themselves, or add a unique index over the field that names the user and, at most, other fields that have few values.',
  },
  unverified_identifier: { level: 'warning', mend: 'Set auth.requireVerified.' },
  reusable_id: { level: 'warning', mend: 'Make the field a reference.' },
  anonymous_change: {
    level: 'warning',
    mend: 'Grant this to "user", "owner" or a role instead.',
  },
  seeded_secret: {
    level: 'warning',
    mend: 'Leave accounts out of the seed: register the first account, and give it a role with the command grant.',
  },
  anonymous_create: {
    level: 'note',
    mend: 'Grant this to "user" instead, or limit the rate of these requests before they reach the service.',
  },
  low_cost: { level: 'note', mend: 'Remove auth.cost. Logins renew the stored hashes.' },
  high_cost: { level: 'note', mend: 'Lower auth.cost before there are accounts.' },
  never_matches: { level: 'warning', mend: 'Correct the condition, or remove the rule.' },
  never_runs: { level: 'warning', mend: 'Remove the rule, or narrow the rule that is tried first.' },
  untried_rules: { level: 'warning', mend: 'Join rules, or grant rights to fewer roles.' },
  mistaken_subject: { level: 'warning', mend: 'Write the name of the intended subject.' },
  unreadable_target: { level: 'warning', mend: 'Grant the subject the right to read these documents too.' },
  writes_role: {
    level: 'warning',
    mend: 'Let only a role write the role field, or restrict its values in "check".',
  },
  writes_user_field: {
    level: 'warning',
    mend: 'Let only a role write the field, or restrict its values in "check".',
  },
  writes_own_condition: {
    level: 'warning',
    mend: 'Repeat the condition in "check", or do not let the rule accept the field.',
  },
  moves_out_of_sight: {
    level: 'warning',
    mend: 'Restrict the values of the field in "check", or do not let the rule accept the field.',
  },
  unsettable_field: {
    level: 'warning',
    mend: 'Let a rule accept or "set" the field, or remove it from the schema.',
  },
  unmeetable_check: {
    level: 'warning',
    mend: 'Correct the condition, or let the rule accept values that meet it.',
  },
  unreadable_reference: {
    level: 'warning',
    mend: 'Grant the subject the right to read the target collection, or do not let the rule accept the field.',
  },
  read_without_index: { level: 'warning', mend: 'Add "index": true to a field that the condition compares.' },
  no_effect: { level: 'warning', mend: 'Remove the key.' },
  unused_ignore: { level: 'warning', mend: 'Remove the line.' },
  public_list: { level: 'note', mend: 'Set limits.defaultLimit or limits.maxLimit.' },
  readable_identifier: { level: 'note', mend: 'Exclude the identifier with "omit".' },
  less_than_user: { level: 'note', mend: 'Grant the role the rights of "user", unless this is intended.' },
} as const satisfies { readonly [code: string]: FindingKind } & {
  readonly [code in WarningCode]: FindingKind
}

/** The codes of findings that are only searched with the option `production`. */
const OF_PRODUCTION: readonly FindingCode[] = [
  'unlimited_list',
  'anonymous_change',
  'anonymous_create',
  'low_cost',
  'high_cost',
]

/** Whether a check of the configuration looks for a finding at all. If not, no line of `$ignore` is unused. */
export const isSought = (code: string, production: boolean): boolean =>
  code !== 'seeded_secret' && (production || !OF_PRODUCTION.some((one) => one === code))

/** The code of a finding. */
export type FindingCode = keyof typeof CODES
