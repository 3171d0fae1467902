import { isDeepStrictEqual } from 'node:util'
import { createMemoryAdapter } from '../../../src/index.js'
import { createRandom } from '../../../src/tools/testing/adapter/fuzz/random.js'
import { ALL } from '../../security/fixture.js'
import type { AnyConfig, Sent } from '../../support/service.js'
import { openTeams, PEOPLE } from './teams.js'
import {
  type Collection,
  type Doc,
  emptyState,
  findDisagreement,
  mayChange,
  mayCreate,
  mayDelete,
  maySee,
  remove,
  type State,
  type Who,
} from './teams-oracle.js'
import { type Ask, createRequests, type Op } from './teams-requests.js'

/** What a search has found, and how often requests did something. */
export interface Found {
  readonly violation: string | undefined
  readonly requests: number
  readonly done: { readonly [what: string]: number }
}

/** The requests after which all documents are again those of the example. */
const ROUND = 60

/** Asks a service of the example at random, until an answer or what is stored breaks a rule. */
export async function search(config: AnyConfig, seed: number, most: number): Promise<Found> {
  const random = createRandom(seed)
  const adapter = createMemoryAdapter()
  const service = await openTeams(adapter, config)
  const done: { [what: string]: number } = {}
  let state = emptyState()
  let mayFound = false
  const names = Object.keys(state) as Collection[]
  const stored = async (name: Collection): Promise<readonly Doc[]> =>
    (await adapter.list(name, ALL)).map((document) => withoutMarks(document))

  for (let requests = 1; requests <= most; requests++) {
    if (requests % ROUND === 1) {
      await service.reset()
      state = emptyState()
      for (const name of names) for (const doc of await stored(name)) state[name].set(doc._id, doc)
    }
    // Who has founded a team in the same millisecond counts as one who founds it in this request.
    if (random.chance(0.7) || mayFound) service.tick()
    const person = random.chance(0.03) ? undefined : random.pick(Object.values(PEOPLE))
    const caller = person && state.users.has(person.id) ? person : null
    const ask = createRequests(random, state, caller?.email)()
    const { line, body } = lineOf(ask)
    mayFound = /(?:POST|PUT) \/teams\b|"\/teams\b/.test(`${line} ${JSON.stringify(body ?? '')}`)
    const sent = await service.send(line, { caller, ...(body ? { body } : {}), mayFail: true })
    const judged = judge(state, caller?.id ?? null, ask, sent)
    if (sent.status < 400) {
      const what = ask.kind === 'one' ? `${ask.op.method} ${ask.op.collection}` : ask.kind
      done[what] = (done[what] ?? 0) + 1
    }
    const violation = judged ?? (await compareStored(state, names, stored)) ?? findDisagreement(state)
    if (violation !== undefined) {
      const who = caller?.email ?? 'a stranger'
      const what = `${violation}: ${who} asked ${line} ${JSON.stringify(body ?? '')}, and got ${sent.status}`
      return { violation: `${what} ${sent.text.slice(0, 500)}`, requests, done }
    }
  }
  return { violation: undefined, requests: most, done }
}

function withoutMarks(document: { readonly _id: string; readonly [name: string]: unknown }): Doc {
  const { updatedAt, ...rest } = document
  const shown = Object.entries(rest).filter(([name]) => name === '_id' || !name.startsWith('_'))
  return { _id: document._id, ...Object.fromEntries(shown) }
}

async function compareStored(
  state: State,
  names: readonly Collection[],
  stored: (name: Collection) => Promise<readonly Doc[]>,
): Promise<string | undefined> {
  for (const name of names) {
    const docs = await stored(name)
    if (docs.length !== state[name].size) return `${name} has others than it should`
    for (const doc of docs)
      if (!isDeepStrictEqual(doc, state[name].get(doc._id)))
        return `${name}/${doc._id} is not as it should be`
  }
  return undefined
}

const pathOf = ({ collection, id }: Op): string =>
  id === undefined ? `/${collection}` : `/${collection}/${id}`

function lineOf(ask: Ask): { readonly line: string; readonly body?: object | undefined } {
  switch (ask.kind) {
    case 'list':
      return { line: `GET /${ask.collection}?limit=100${ask.query && `&${ask.query}`}` }
    case 'count':
      return { line: `GET /${ask.collection}/count` }
    case 'one':
      // A PUT alone has no header here, and so replaces what is not there.
      return { line: `${ask.op.method} ${pathOf(ask.op)}`, body: ask.op.body }
    case 'batch':
      return {
        line: 'POST /_batch',
        body: {
          operations: ask.ops.map((op) => ({
            method: op.method,
            path: pathOf(op),
            ...(op.body ? { body: op.body } : {}),
            ...(op.method === 'PUT' ? { ifNoneMatch: '*' } : {}),
          })),
        },
      }
    default:
      return ask satisfies never
  }
}

/** Judges an answer, and brings the state to what it says. */
function judge(state: State, who: Who, ask: Ask, { status, body }: Sent): string | undefined {
  if (status >= 500) return 'a failure'
  if (ask.kind === 'batch') {
    if (status >= 400) return undefined
    const founded = new Set<unknown>()
    for (const [i, op] of ask.ops.entries()) {
      const result = body.results[i]
      const violation = judgeOp(state, who, op, { ...result, founded })
      if (violation !== undefined) return `operation ${i}: ${violation}`
      if (op.collection === 'teams' && result.status === 201) founded.add(result.body._id)
    }
    return undefined
  }
  if (ask.kind === 'one') return judgeOp(state, who, ask.op, { status, body, founded: new Set() })
  const visible = [...state[ask.collection].values()].filter((doc) => maySee(state, who, ask.collection, doc))
  if (status >= 400)
    return who === null || ask.query.startsWith('q') || ask.query.startsWith('e')
      ? undefined
      : 'a list is refused'
  if (ask.kind === 'count') return body.total === visible.length ? undefined : `a count of ${visible.length}`
  for (const doc of body as readonly Doc[])
    if (!visible.some(({ _id }) => _id === doc._id)) return `a list shows ${doc._id}`
  const isWhole = !ask.query.startsWith('q')
  return isWhole && body.length !== visible.length ? `a list lacks some of ${visible.length}` : undefined
}

interface Answered {
  readonly status: number
  readonly body?: Doc
  readonly founded: ReadonlySet<unknown>
}

function judgeOp(state: State, who: Who, op: Op, { status, body, founded }: Answered): string | undefined {
  const { collection, id = '' } = op
  const before = state[collection].get(id)
  if (op.method === 'GET') {
    const isSeen = before !== undefined && maySee(state, who, collection, before)
    if (status === 200) return isSeen && body?._id === id ? undefined : 'a document is shown'
    return isSeen ? 'a document is hidden' : undefined
  }
  if (status >= 400) return undefined
  if (op.method === 'DELETE') {
    if (!before || !mayDelete(state, who, collection, before)) return 'a delete'
    remove(state, collection, id)
    return undefined
  }
  if (!body) return 'no answer'
  const after = withoutMarks(body)
  if (before) {
    if (!mayChange(state, who, collection, [before, after])) return 'a change'
  } else if (!mayCreate(state, who, [collection, after], founded)) return 'a create'
  state[collection].set(after._id, after)
  return undefined
}
