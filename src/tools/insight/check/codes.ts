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
  invalid_json: { level: 'error', mend: 'Correct the text.' },
  invalid_config: { level: 'error', mend: 'Correct it: a service does not start with it.' },
  open_to_everyone: { level: 'warning', mend: 'Grant single operations, or give this to a role.' },
  case_sensitive_identifier: { level: 'warning', mend: 'Add "lowercase": true.' },
  open_secret: { level: 'warning', mend: 'Leave the secret out with "omit".' },
  unlimited_list: { level: 'warning', mend: 'Set limits.defaultLimit or limits.maxLimit.' },
  plain_form_on_users: {
    level: 'warning',
    mend: 'Write { "create": … }, and add the read rights that are meant.',
  },
  unfillable_field: {
    level: 'warning',
    mend: 'Let the rule accept it, "set" it, give it a default, or do not require it.',
  },
  less_than_everyone: { level: 'warning', mend: 'Grant it the rights of "*", or remove them from "*" too.' },
  impossible_role: { level: 'warning', mend: 'Correct the name, or let the role field hold it.' },
  match_tells: { level: 'warning', mend: 'Let them read the field, or not the document.' },
  unset_widens: { level: 'warning', mend: 'Demand that the field exists, or choose another "onDelete".' },
  claim_without_index: {
    level: 'warning',
    mend: 'Add an index that begins with the fields that the claim compares.',
  },
  self_given_claim: {
    level: 'warning',
    mend: 'Require a claim of the caller in "check", or a reference with a "match".',
  },
  unbounded_claim: {
    level: 'warning',
    mend: 'Let subjects create it only for themselves, or add a unique index over the subject and, at most, fields with few values.',
  },
  unverified_identifier: { level: 'warning', mend: 'Set auth.requireVerified.' },
  reusable_id: { level: 'warning', mend: 'Make the field a reference.' },
  never_matches: { level: 'warning', mend: 'Correct the condition, or leave the rule out.' },
  never_runs: { level: 'warning', mend: 'Leave the rule out, or narrow the one that is tried first.' },
  mistaken_subject: { level: 'warning', mend: 'Write the name of the intended subject.' },
  unreadable_target: { level: 'warning', mend: 'Grant it the right to read these documents too.' },
  writes_role: {
    level: 'warning',
    mend: 'Let only a role write the role field, or restrict its values in "check".',
  },
  writes_user_field: {
    level: 'warning',
    mend: 'Let only a role write the field, or restrict its values in "check".',
  },
  writes_own_condition: { level: 'warning', mend: 'Demand it in "check" too, or leave the field out.' },
  moves_out_of_sight: {
    level: 'warning',
    mend: 'Restrict the values of the field in "check", or leave it out.',
  },
  unsettable_field: { level: 'warning', mend: 'Let a rule accept it, or "set" it, or leave the field out.' },
  unmeetable_check: {
    level: 'warning',
    mend: 'Correct the condition, or let the rule accept values that meet it.',
  },
  unreadable_reference: {
    level: 'warning',
    mend: 'Grant it the right to read the target, or leave the field out.',
  },
  read_without_index: { level: 'warning', mend: 'Add "index": true to a field that the condition compares.' },
  no_effect: { level: 'warning', mend: 'Leave the key out.' },
  unused_ignore: { level: 'warning', mend: 'Leave the line out.' },
  public_list: { level: 'note', mend: 'Set limits.defaultLimit or limits.maxLimit.' },
  readable_identifier: { level: 'note', mend: 'Leave the identifier out with "omit".' },
  less_than_user: { level: 'note', mend: 'Grant the role the rights of "user", unless this is intended.' },
} as const satisfies { readonly [code: string]: FindingKind }

/** The code of a finding. */
export type FindingCode = keyof typeof CODES
