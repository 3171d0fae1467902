import type { AuthConfig, Limits } from '../types.js'

/** The defaults of `limits` (CONTRACT.md §1). */
export const DEFAULT_LIMITS: Limits = {
  defaultLimit: null,
  maxLimit: null,
  bodyBytes: 1_048_576,
  documentBytes: 2_097_152,
  queryBytes: 8192,
  conditions: 64,
  values: 100,
  groups: 10_000,
  patterns: 10,
  expanded: 100,
  bulk: 100,
  added: 10,
  requestSeconds: 10,
  subscribers: 1000,
  changesHours: 24,
  changesBytes: 1_073_741_824,
}

/**
 * The defaults of `auth` (CONTRACT.md §1), without those that depend on the schema of `users`: the fields for
 * identifier, secret and role.
 */
export const DEFAULT_AUTH: Required<
  Pick<AuthConfig, 'register' | 'sessionDays' | 'sessions' | 'cost' | 'requireVerified' | 'resetMinutes'>
> = {
  register: true,
  sessionDays: 30,
  sessions: 100,
  cost: 12,
  requireVerified: false,
  resetMinutes: 60,
}
