import { expect, test } from 'vitest'
import { CONFIG } from '../examples/support/teams.js'
import { search } from '../examples/support/teams-search.js'
import { choose } from './choose.js'

/** Faults planted in `examples/teams`: the requests at random of `test/examples/teams-search.test.ts` find each of them. */

// biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
type Json = any

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

/** The seed by which each of them is found. */
const SEED = 12

test.each(choose(PLANTED, () => '../../examples/teams/'))(
  'it finds %s',
  async (_, plant, found) => {
    const config = structuredClone(CONFIG)
    plant(config)
    const { violation } = await search(config, SEED, 20_000)
    expect(violation).toMatch(found)
  },
  600_000,
)
