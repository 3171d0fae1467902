import { PEOPLE } from './teams.js'

/**
 * The rules of `examples/teams` in plain words, and what follows from a write: written down anew, without the
 * configuration and without the library.
 */

export type Doc = { readonly _id: string; readonly [field: string]: unknown }
export type Collection = 'users' | 'teams' | 'memberships' | 'invitations' | 'projects' | 'tasks' | 'comments'
export type State = { readonly [name in Collection]: Map<string, Doc> }

/** Who acts: the `_id` of an account, or nobody. */
export type Who = string | null

export const emptyState = (): State => ({
  users: new Map(),
  teams: new Map(),
  memberships: new Map(),
  invitations: new Map(),
  projects: new Map(),
  tasks: new Map(),
  comments: new Map(),
})

const emailOf = (who: Who): unknown => Object.values(PEOPLE).find(({ id }) => id === who)?.email

const roleIn = (state: State, who: Who, team: unknown): unknown =>
  [...state.memberships.values()].find((one) => one.user === who && one.team === team)?.role

const belongs = (state: State, who: Who, team: unknown): boolean => roleIn(state, who, team) !== undefined
const works = (state: State, who: Who, team: unknown): boolean =>
  ['admin', 'member'].includes(String(roleIn(state, who, team)))
const leads = (state: State, who: Who, team: unknown): boolean => roleIn(state, who, team) === 'admin'

/** Whether one sees a document at all. */
export function maySee(state: State, who: Who, collection: Collection, doc: Doc): boolean {
  if (who === null) return false
  const { team, createdBy } = doc
  switch (collection) {
    case 'users':
      return doc._id === who
    case 'teams':
      return true
    case 'memberships':
      return works(state, who, team) || doc.user === who
    case 'invitations':
      return leads(state, who, team) || doc.email === emailOf(who)
    case 'projects':
      return (
        works(state, who, team) ||
        (belongs(state, who, team) && (doc.status !== 'draft' || createdBy === who))
      )
    case 'tasks':
      return works(state, who, team)
    case 'comments':
      return works(state, who, team) && (doc.isDraft === false || createdBy === who)
    default:
      return collection satisfies never
  }
}

/** Whether one may bring a document in. `founded` are the teams that one has founded in the same batch. */
export function mayCreate(
  state: State,
  who: Who,
  [collection, doc]: readonly [Collection, Doc],
  founded: ReadonlySet<unknown>,
): boolean {
  if (who === null || doc.createdBy !== who) return false
  const { team } = doc
  switch (collection) {
    case 'users':
      return false
    case 'teams':
      return true
    case 'memberships': {
      if (doc.user !== who) return false
      const invitation = state.invitations.get(String(doc.invitation))
      if (doc.invitation === undefined) return doc.role === 'admin' && founded.has(team)
      return invitation !== undefined && maySee(state, who, 'invitations', invitation)
    }
    case 'invitations':
      return leads(state, who, team)
    case 'projects':
    case 'tasks':
    case 'comments':
      return works(state, who, team)
    default:
      return collection satisfies never
  }
}

const changesOf = (before: Doc, after: Doc): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => name !== 'updatedAt' && before[name] !== after[name],
  )

/** Whether one may change a document like that. */
export function mayChange(
  state: State,
  who: Who,
  collection: Collection,
  [before, after]: readonly [Doc, Doc],
): boolean {
  const changed = changesOf(before, after)
  const only = (...names: readonly string[]): boolean => changed.every((name) => names.includes(name))
  const isOwn = before.createdBy === who
  const { team } = before
  if (!maySee(state, who, collection, before)) return false
  switch (collection) {
    case 'users':
      return false
    case 'teams':
      return only('name') && leads(state, who, before._id)
    case 'memberships':
      return (only('role') && leads(state, who, team)) || (only('name') && isOwn && belongs(state, who, team))
    case 'invitations':
      return only('role') && leads(state, who, team)
    case 'projects': {
      const isLed =
        only('team', 'title', 'text', 'status') && leads(state, who, team) && leads(state, who, after.team)
      return isLed || (only('title', 'text', 'status') && isOwn && works(state, who, team))
    }
    case 'tasks':
      return (
        only('project', 'team', 'title', 'state', 'assignee') &&
        works(state, who, team) &&
        works(state, who, after.team)
      )
    case 'comments':
      return only('text', 'isDraft') && isOwn && works(state, who, team)
    default:
      return collection satisfies never
  }
}

/** Whether one may delete a document. */
export function mayDelete(state: State, who: Who, collection: Collection, doc: Doc): boolean {
  const isOwn = doc.createdBy === who
  const { team } = doc
  if (!maySee(state, who, collection, doc)) return false
  switch (collection) {
    case 'users':
      return true
    case 'teams':
      return leads(state, who, doc._id)
    case 'memberships':
      return doc.user === who || (leads(state, who, team) && doc.invitation === undefined)
    case 'invitations':
      return true
    case 'projects':
      return leads(state, who, team) || (isOwn && works(state, who, team) && doc.status === 'draft')
    case 'tasks':
    case 'comments':
      return leads(state, who, team) || (isOwn && works(state, who, team))
    default:
      return collection satisfies never
  }
}

/** What hangs on a document: it goes with it. */
const HANGS: { readonly [name in Collection]: readonly (readonly [Collection, string])[] } = {
  users: [['memberships', 'user']],
  teams: [
    ['memberships', 'team'],
    ['invitations', 'team'],
    ['projects', 'team'],
    ['tasks', 'team'],
    ['comments', 'team'],
  ],
  invitations: [['memberships', 'invitation']],
  projects: [['tasks', 'project']],
  tasks: [['comments', 'task']],
  memberships: [],
  comments: [],
}

/** Deletes a document, and what hangs on it; tasks that were given to a membership are nobody's then. */
export function remove(state: State, collection: Collection, id: string): void {
  if (!state[collection].delete(id)) return
  for (const [other, field] of HANGS[collection])
    for (const doc of [...state[other].values()]) if (doc[field] === id) remove(state, other, doc._id)
  if (collection !== 'memberships') return
  for (const task of [...state.tasks.values()]) {
    const { assignee, ...rest } = task
    if (assignee === id) state.tasks.set(task._id, rest)
  }
}

/** What is always so, after all that was done: what belongs together agrees, and nobody belongs twice. */
export function findDisagreement(state: State): string | undefined {
  const agree = (one: Doc, other: Doc | undefined, ...fields: readonly string[]): boolean =>
    other !== undefined && fields.every((field) => one[field] === other[field])
  for (const task of state.tasks.values()) {
    if (!agree(task, state.projects.get(String(task.project)), 'team'))
      return `task ${task._id} and its project`
    if (task.assignee !== undefined && !agree(task, state.memberships.get(String(task.assignee)), 'team'))
      return `task ${task._id} and who has it`
  }
  for (const comment of state.comments.values())
    if (!agree(comment, state.tasks.get(String(comment.task)), 'team'))
      return `comment ${comment._id} and its task`
  const seen = new Set<string>()
  for (const one of state.memberships.values()) {
    const { invitation } = one
    if (invitation !== undefined && !agree(one, state.invitations.get(String(invitation)), 'team', 'role'))
      return `membership ${one._id} and its invitation`
    const key = `${one.team} ${one.user}`
    if (seen.has(key)) return `two memberships of ${key}`
    seen.add(key)
  }
  return undefined
}
