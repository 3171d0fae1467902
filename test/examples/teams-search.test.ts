import { expect, test } from 'vitest'
import { CONFIG } from './support/teams.js'
import { search } from './support/teams-search.js'

/**
 * Requests at random by all who have an account, and what each of them does or shows, judged by the rules in plain
 * words. Finds nothing in `examples/teams`, and finds what is wrong in a configuration that is a little different.
 */

const isLong = process.env.LONG !== undefined
const REQUESTS = isLong ? 20_000 : 400
const SEED = isLong ? Date.now() % 2 ** 31 : 12

// biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
type Json = any

test(`no way around the rules in ${REQUESTS} requests, with the seed ${SEED}`, async () => {
  const { violation, done } = await search(CONFIG, SEED, REQUESTS)
  expect(violation).toBeUndefined()
  // Refusals alone would say nothing.
  expect(Object.values(done).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(REQUESTS / 5)
  for (const what of ['batch', 'list', 'count', 'PATCH projects']) expect(done).toHaveProperty([what])
})

const PLANTED: readonly (readonly [name: string, plant: (config: Json) => void, found: RegExp])[] = [
  [
    'a claim without the role',
    ({ auth }) => void delete auth.claims.adminOf.where.role,
    /^(?:operation \d: )?a (?:change|create|delete|list)/,
  ],
  [
    'a claim without the time',
    ({ auth }) => void delete auth.claims.founded.where.createdAt,
    /^(?:operation \d: )?a create/,
  ],
  [
    'an invitation to any role',
    ({ collections }) => void delete collections.memberships.schema.invitation.match.role,
    /^membership .* and its invitation/,
  ],
  [
    'a task without a match',
    ({ collections }) => void delete collections.tasks.schema.project.match,
    /^task .* and its project/,
  ],
  [
    'a check lifted',
    ({ collections }) => {
      collections.projects.permissions.user.update.check = {}
    },
    /^(?:operation \d: )?a change/,
  ],
  [
    'drafts for guests',
    ({ collections }) => {
      collections.projects.permissions.user.read.where = { team: { $in: '$user.teams' } }
    },
    /^a (?:list|document|count)/,
  ],
  [
    'a check left out',
    ({ collections }) => {
      collections.invitations.permissions.user.create = true
    },
    /^(?:operation \d: )?a create/,
  ],
]

test.each(PLANTED)(
  'it finds %s',
  async (_, plant, found) => {
    const config = structuredClone(CONFIG)
    plant(config)
    const { violation } = await search(config, SEED, 20_000)
    expect(violation).toMatch(found)
  },
  600_000,
)
