import { connect, MISSING, type NewTask, type Query } from './client.js'

/** What a generated client asks of the service of teams, by the names and the types that its document gave it. */
const FILTERS = {
  eq: { 'q[title][$eq]': 'Mow' },
  ne: { 'q[state][$ne]': 'open' },
  'gt of a time': { 'q[dueAt][$gt]': '2026-02-01T00:00:00Z' },
  'in, several numbers': { 'q[points][$in]': [3, 13] },
  'in, several texts': { 'q[title][$in]': ['Mow', 'Paint', 'nothing'] },
  'in, one text': { 'q[title][$in]': ['Mow'] },
  regex: { 'q[title][$regex]': '^[A-C]' },
  exists: { 'q[dueAt][$exists]': false },
  null: { 'q[dueAt][$eq]': MISSING },
  'sort, limit, project': { 'sort[points]': -1, limit: 2, project: ['title', 'points'] },
} satisfies { readonly [name: string]: Query }

/** Where and as whom. */
export interface Place {
  readonly origin: string
  readonly token: string
  readonly team: string
  readonly project: string
  /** Whether the client writes queries as `toQuery` of this package does. */
  readonly hasToQuery: boolean
}

/** Two creates, a PATCH of times, and all filters. */
export async function use({ origin, token, team, project, hasToQuery }: Place) {
  const client = connect(origin, token, hasToQuery)
  const bread: NewTask = { team, project, title: 'Bake', points: 8, dueAt: null, tags: ['kitchen'] }
  const paint: NewTask = { team, project, title: 'Paint', points: 13, remindAt: '2026-01-01T00:00:00Z' }
  const baked = await client.create(bread)
  const painted = await client.create(paint)
  const updated = await client.update(painted._id, { dueAt: '2026-12-24T18:00:00+01:00', remindAt: null })
  const lists: { [name: string]: readonly (string | undefined)[] | string } = {}
  for (const [name, query] of Object.entries<Query>(FILTERS)) {
    try {
      const found = await client.list(query)
      lists[name] = found.map(({ title }) => title)
    } catch (thrown) {
      lists[name] = String(thrown)
    }
  }
  return { baked, updated, lists }
}
