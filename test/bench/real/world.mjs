/**
 * A team's task list, and what people do with it: people belong to teams, see the tasks of their teams, and do other things
 * each time. All of it follows from fixed seeds, so every server holds the same and is asked the same.
 */

/** Numbers between 0 and 1, the same for the same seed (mulberry32). */
function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const PEOPLE = 1000
const TEAMS = 200
export const STATES = ['open', 'doing', 'done']
const WORDS =
  'budget invoice rollout backup upgrade survey contract review onboarding migration outage hiring offsite launch training'.split(
    ' ',
  )
const START = Date.UTC(2026, 0, 1)
const [MINUTE, DAY] = [60_000, 86_400_000]

const idOf = (kind, number) => `01940000-000${kind}-7000-8000-${number.toString(16).padStart(12, '0')}`
const timeOf = (milliseconds) => new Date(milliseconds).toISOString()

/** Teams, people with three teams each, and so many tasks. */
export function createWorld(size) {
  const random = createRandom(1)
  const below = (count) => Math.floor(random() * count)
  const word = () => WORDS[below(WORDS.length)]
  const teams = Array.from({ length: TEAMS }, (_, i) => ({ _id: idOf(1, i), name: `team ${i}` }))
  const people = Array.from({ length: PEOPLE }, (_, i) => {
    const mine = new Set([i, 5 * i + 1, 11 * i + 7].map((number) => number % TEAMS))
    return {
      _id: idOf(2, i),
      email: `person${i}@example.org`,
      teams: [...mine].map((number) => teams[number]._id),
    }
  })
  const members = new Map(
    teams.map(({ _id }) => [_id, people.filter((person) => person.teams.includes(_id))]),
  )
  const tasks = Array.from({ length: size }, (_, i) => {
    const { _id: team } = teams[below(TEAMS)]
    const candidates = members.get(team)
    return {
      _id: idOf(3, i),
      team,
      title: `${word()} ${word()} ${word()} ${i}`,
      status: STATES[below(3)],
      priority: below(5),
      due: timeOf(START + ((i * 7907) % size) * MINUTE),
      assignee: candidates[below(candidates.length)]._id,
      budget: below(10_000),
      notes: Array.from({ length: 5 + below(10) }, word).join(' '),
      createdAt: timeOf(START - ((i * 104_723) % size) * 1000),
    }
  })
  return { teams, people, tasks }
}

/** Of a hundred requests, so many are of each kind. */
const SHARES = { team: 25, mine: 15, newest: 10, search: 10, read: 15, count: 10, patch: 10, create: 5 }

export const KINDS = Object.keys(SHARES)

/** What a person asks for: `{ kind, person, … }`, of all kinds or of one. Some people and tasks are asked for much more often. */
export function createRequests({ people, tasks }, count, seed, only) {
  const random = createRandom(seed)
  const below = (most) => Math.floor(random() * most)
  const early = (most) => Math.floor(most * random() ** 3)
  const tasksOf = Map.groupBy
    ? Map.groupBy(tasks, ({ team }) => team)
    : tasks.reduce((known, task) => {
        const list = known.get(task.team) ?? []
        list.push(task)
        return known.set(task.team, list)
      }, new Map())
  const kinds = Object.entries(SHARES).flatMap(([kind, share]) => Array(share).fill(kind))
  return Array.from({ length: count }, (_, i) => {
    const kind = only ?? kinds[below(kinds.length)]
    const person = early(people.length)
    const me = people[person]
    const team = me.teams[below(me.teams.length)]
    const list = tasksOf.get(team) ?? []
    const id = list[early(list.length)]._id
    const from = START + below(60 * DAY)
    switch (kind) {
      case 'team':
        return { kind, person, team, status: STATES[below(3)] }
      case 'mine':
        return { kind, person, me: me._id, from: timeOf(from) }
      case 'newest':
        return { kind, person }
      case 'search':
        return {
          kind,
          person,
          team,
          text: `${WORDS[below(WORDS.length)]} ${WORDS[below(WORDS.length)].slice(0, 3)}`,
        }
      case 'read':
        return { kind, person, id }
      case 'count':
        return { kind, person, team, from: timeOf(from), to: timeOf(from + (1 + below(30)) * DAY) }
      case 'patch':
        return { kind, person, id, body: { status: STATES[below(3)], priority: below(5) } }
      default: {
        const title = `${WORDS[below(WORDS.length)]} ${seed}-${i}`
        const body = {
          team,
          title,
          status: 'open',
          priority: below(5),
          due: timeOf(from),
          assignee: me._id,
          notes: 'new',
        }
        return { kind, person, body }
      }
    }
  })
}
