import { readdir, readFile } from 'node:fs/promises'
import { expectAllowed, expectDenied } from 'collection-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readDashboard } from '../../examples/helpdesk/dashboard.js'
import { createMemoryAdapter } from '../../src/index.js'
import { readStream } from '../support/event-streams.js'
import type { Sent } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { until } from '../support/until.js'
import { COLLECTIONS, CONFIG, DOCUMENTS, openHelpDesk, PEOPLE } from './support/helpdesk.js'
import { actAs } from './support/seeded.js'

/**
 * The permissions of `examples/helpdesk`. Ann and Abe are agents of Acme, Cora and Carl its customers. Ben is the agent
 * of Bolt, and Ann is a customer of Bolt. Eve is invited to Acme as a customer; Zoe has an account and no membership.
 */

const id = (end: string) => `01930000-0000-7000-8000-${end.padStart(12, '0')}`
const [ACME, BOLT] = [id('a1'), id('b1')]
const MEMBERSHIP = { ann: id('21'), abe: id('22'), cora: id('23'), ben: id('25'), annInBolt: id('26') }
const OF_EVE = id('31')
/** Tickets 1 and 3 are Cora's, 2 is Carl's, all of Acme; Ann's is of Bolt. */
const [FIRE, PIN, KEYBOARD, DOOR] = [id('41'), id('42'), id('43'), id('44')]
const [STAIRS, INTERNAL, PUSH] = [id('51'), id('52'), id('53')]

type Act = (line: string, body?: object) => Promise<Sent>
const NAMES = ['ann', 'abe', 'ben', 'cora', 'carl', 'eve', 'zoe', 'nobody'] as const
type Cast = { readonly [name in (typeof NAMES)[number]]: Act }

const statusOf = async (sent: Promise<Sent>): Promise<number> => (await sent).status
const values = async (sent: Promise<Sent>, field: string): Promise<readonly unknown[]> => {
  const { status, body } = await sent
  expect(status, JSON.stringify(body)).toBe(200)
  return body.map((document: { [name: string]: unknown }) => document[field])
}
const titles = (act: Act, query = '') => values(act(`GET /tickets${query}`), 'title')
const texts = (act: Act, query = '') => values(act(`GET /comments${query}`), 'text')
const ignoredBy = ({ headers }: Sent): readonly string[] =>
  (headers.get('ignored-properties') ?? '').match(/\w+/g) ?? []
const open = (act: Act, company = ACME, title = 'New') => act('POST /tickets', { company, title })
const join = { company: ACME, role: 'customer', invitation: OF_EVE }
const accept = (act: Act, changed: object = {}) => act('POST /memberships', { ...join, ...changed })
const faultOf = ({ status, body }: Sent) => [status, body.errors?.[0].path, body.errors?.[0].code]
const UNKNOWN = (path: string) => [400, path, 'unknown_reference']

const SENTENCES: readonly (readonly [sentence: string, holds: (cast: Cast) => Promise<void>])[] = [
  [
    'a caller without an account reads nothing',
    async ({ nobody }) => {
      for (const name of COLLECTIONS)
        expect([name, await statusOf(nobody(`GET /${name}`))]).toEqual([name, 401])
    },
  ],
  [
    'an account without a membership reads its own account and nothing else',
    async ({ zoe }) => {
      const lists = await Promise.all(
        COLLECTIONS.map(async (name) => [name, (await zoe(`GET /${name}`)).body] as const),
      )
      const { users, counters, ...others } = Object.fromEntries(lists)
      expect(users.map(({ name }: { name: string }) => name)).toEqual(['Zoe'])
      expect(counters.status).toBe(403)
      expect(Object.values(others)).toEqual([[], [], [], [], [], []])
    },
  ],
  [
    'an agent reads the tickets of the company, and of another company only what a customer of it does',
    async ({ ann, abe, ben }) => {
      const acme = ['The printer is on fire', 'I forgot my PIN', 'A louder keyboard']
      expect(await titles(abe)).toEqual(acme)
      expect(await titles(ann)).toEqual([...acme, 'The door is stuck'])
      expect(await titles(ben)).toEqual(['The door is stuck'])
      expect(await texts(ann, `?q[company]=${BOLT}`)).toEqual(['Push harder.'])
    },
  ],
  [
    'a customer reads their own tickets only',
    async ({ cora, ann }) => {
      expect(await titles(cora)).toEqual(['The printer is on fire', 'A louder keyboard'])
      for (const ticket of [PIN, DOOR]) expect(await statusOf(cora(`GET /tickets/${ticket}`))).toBe(404)
      expect((await cora(`GET /tickets/count?q[company]=${BOLT}`)).body).toEqual({ total: 0 })
      expect((await ann(`GET /tickets/count?q[company]=${BOLT}`)).body).toEqual({ total: 1 })
    },
  ],
  [
    'the assignee of a ticket is hidden from its customer, also in filters, sort orders and expand',
    async ({ abe, cora }) => {
      expect((await abe(`GET /tickets/${FIRE}`)).body.assignee).toBe(MEMBERSHIP.abe)
      expect((await cora(`GET /tickets/${FIRE}?expand=["assignee"]`)).body).not.toHaveProperty('assignee')
      expect(await titles(cora, `?q[assignee]=${MEMBERSHIP.abe}`)).toEqual([])
      expect(await titles(cora, '?q[assignee][$exists]=true')).toEqual([])
      expect(await statusOf(cora('GET /tickets?sort[assignee]=1'))).toBe(400)
    },
  ],
  [
    'the dashboard of each has the tickets that they may read, and nothing of hidden assignees',
    async ({ abe, ben, cora }) => {
      const groups = async (act: Act, query: string) =>
        (await act(`GET /tickets/aggregate?${query}`)).body.map(
          ({ key, count }: { key: object; count: number }) => [...Object.values(key), count],
        )
      expect(await groups(abe, 'by[status]=value')).toEqual([
        ['open', 1],
        ['solved', 1],
        ['waiting', 1],
      ])
      expect(await groups(ben, 'by[status]=value')).toEqual([['open', 1]])
      expect(await groups(cora, 'by[status]=value')).toEqual([
        ['open', 1],
        ['solved', 1],
      ])
      expect(await groups(abe, 'by[assignee]=value')).toEqual([
        [null, 2],
        [MEMBERSHIP.abe, 1],
      ])
      expect(await groups(cora, 'by[assignee]=value')).toEqual([[null, 2]])
      expect((await cora('GET /comments/aggregate?by[isInternal]=value')).body).toEqual([
        { key: { isInternal: false }, count: 1 },
      ])
    },
  ],
  [
    'internal comments are hidden from customers, also in filters, counts and expand',
    async ({ abe, cora }) => {
      expect(await texts(abe, `?q[ticket]=${FIRE}`)).toEqual([
        'Please use the stairs.',
        'She always says that.',
      ])
      expect(await texts(cora)).toEqual(['Please use the stairs.'])
      for (const filter of ['isInternal=true', 'text[$regex]=always', `_id=${INTERNAL}`]) {
        expect(await texts(cora, `?q[${filter.replace(/^\w+/, '$&]')}`)).toEqual([])
        expect((await cora(`GET /comments/count?q[${filter.replace(/^\w+/, '$&]')}`)).body).toEqual({
          total: 0,
        })
      }
      expect(await texts(cora, '?sort[isInternal]=-1&expand=["ticket"]')).toEqual(['Please use the stairs.'])
      for (const method of ['GET', 'PATCH', 'DELETE'])
        expect(
          await statusOf(cora(`${method} /comments/${INTERNAL}`, method === 'PATCH' ? {} : undefined)),
        ).toBe(404)
      expect((await cora('GET /audit')).body).toEqual([])
    },
  ],
  [
    'an internal comment changes nothing that the customer reads of the ticket',
    async ({ abe, cora }) => {
      const before = await cora(`GET /tickets/${FIRE}`)
      const comment = { ticket: FIRE, company: ACME, text: 'Psst.', isInternal: true }
      expect(await statusOf(abe('POST /comments', comment))).toBe(201)
      const after = await cora(`GET /tickets/${FIRE}`)
      expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')])
    },
  ],
  [
    'agents read the names of the people of their companies, customers those of the agents',
    async ({ ann, ben, cora }) => {
      const names = (act: Act) => values(act('GET /users?sort[name]=1'), 'name')
      expect(await names(ann)).toEqual(['Abe', 'Ann', 'Ben', 'Carl', 'Cora'])
      expect(await names(ben)).toEqual(['Ann', 'Ben'])
      expect(await names(cora)).toEqual(['Abe', 'Ann', 'Cora'])
      expect(await values(ann('GET /users'), 'email')).toEqual([
        'ann@example.com',
        ...Array(4).fill(undefined),
      ])
      expect(await names((line) => cora(`${line}&q[email]=abe@example.com`))).toEqual([])
      expect(await statusOf(cora(`GET /users/${PEOPLE.carl?.id}`))).toBe(404)
    },
  ],
  [
    'a membership shows the company to its user, and the memberships of a company to its agents',
    async ({ abe, cora, zoe }) => {
      expect(await values(cora('GET /companies'), 'name')).toEqual(['Acme'])
      expect(await values(zoe('GET /companies'), 'name')).toEqual([])
      expect(await values(cora('GET /memberships'), '_id')).toEqual([MEMBERSHIP.cora])
      expect((await abe('GET /memberships')).body).toHaveLength(4)
    },
  ],

  [
    'a customer gives the company, the title and the text of a ticket; the status is open',
    async ({ cora }) => {
      const sent = await cora('POST /tickets', {
        company: ACME,
        title: 'No coffee',
        text: 'None at all.',
        status: 'solved',
        priority: 3,
        number: 77,
        assignee: MEMBERSHIP.cora,
      })
      expect([sent.status, ignoredBy(sent)]).toEqual([201, ['assignee', 'number', 'priority', 'status']])
      expect(sent.body).toMatchObject({ number: 4, status: 'open', priority: 2, createdBy: PEOPLE.cora?.id })
    },
  ],
  [
    'a customer edits title and text of their ticket; it is then open',
    async ({ carl }) => {
      const sent = await carl(`PATCH /tickets/${PIN}`, { title: 'My PIN', status: 'solved', priority: 3 })
      expect([sent.status, ignoredBy(sent)]).toEqual([200, ['priority', 'status']])
      expect(sent.body).toMatchObject({ title: 'My PIN', status: 'open', priority: 2, number: 2 })
    },
  ],
  [
    'a customer neither solves nor reopens a ticket, nor edits one that is solved',
    async ({ cora, abe }) => {
      await cora(`PATCH /tickets/${FIRE}`, { status: 'solved' })
      expect((await cora(`GET /tickets/${FIRE}`)).body.status).toBe('open')
      for (const body of [{ status: 'open' }, { title: 'Louder!' }, { title: 'Louder!', status: 'waiting' }])
        expect(await statusOf(cora(`PATCH /tickets/${KEYBOARD}`, body))).toBe(403)
      const replaced = { company: ACME, title: 'Louder!', status: 'open' }
      expect(await statusOf(cora(`PUT /tickets/${KEYBOARD}`, replaced))).toBe(403)
      expect((await abe(`GET /tickets/${KEYBOARD}`)).body).toMatchObject({
        status: 'solved',
        title: 'A louder keyboard',
      })
    },
  ],
  [
    'a PUT of a customer keeps the number, the priority and the assignee',
    async ({ abe, cora }) => {
      const before = (await abe(`GET /tickets/${FIRE}`)).body
      const body = { company: ACME, title: 'It still burns', number: 9, priority: 1 }
      expect(await statusOf(cora(`PUT /tickets/${FIRE}`, body))).toBe(200)
      const { updatedAt, title, ...kept } = (await abe(`GET /tickets/${FIRE}`)).body
      expect(title).toBe('It still burns')
      expect(before).toMatchObject(kept)
    },
  ],
  [
    'a customer deletes no ticket, and touches none of others',
    async ({ cora, ann }) => {
      expect(await statusOf(cora(`DELETE /tickets/${FIRE}`))).toBe(403)
      expect(await statusOf(ann(`DELETE /tickets/${DOOR}`))).toBe(403)
      for (const ticket of [PIN, DOOR]) {
        expect(await statusOf(cora(`PATCH /tickets/${ticket}`, { title: 'Mine' }))).toBe(404)
        expect(await statusOf(cora(`DELETE /tickets/${ticket}`))).toBe(404)
      }
    },
  ],
  [
    'an agent writes everything but the number',
    async ({ abe }) => {
      const body = { title: 'Fire', text: 'Out.', status: 'solved', priority: 1, assignee: MEMBERSHIP.ann }
      expect((await abe(`PATCH /tickets/${FIRE}`, body)).body).toMatchObject({ ...body, number: 1 })
      const numbered = await abe(`PATCH /tickets/${FIRE}`, { number: 9, priority: 2 })
      expect([ignoredBy(numbered), numbered.body.number]).toEqual([['number'], 1])
      const created = await abe('POST /tickets', { company: ACME, title: 'By phone', priority: 3, number: 9 })
      expect([ignoredBy(created), created.body.number, created.body.priority]).toEqual([['number'], 4, 3])
      expect(await statusOf(abe(`DELETE /tickets/${PIN}`))).toBe(204)
    },
  ],
  [
    'an agent of one company is no agent of another',
    async ({ abe, ann, ben }) => {
      for (const method of ['GET', 'DELETE']) {
        expect(await statusOf(ben(`${method} /tickets/${FIRE}`))).toBe(404)
        expect(await statusOf(abe(`${method} /tickets/${DOOR}`))).toBe(404)
      }
      const own = await ann(`PATCH /tickets/${DOOR}`, { title: 'Stuck', status: 'solved', priority: 3 })
      expect([ignoredBy(own), own.body.status, own.body.priority]).toEqual([
        ['priority', 'status'],
        'open',
        2,
      ])
      expect(await statusOf(ann(`DELETE /comments/${PUSH}`))).toBe(403)
    },
  ],
  [
    'a ticket is created in a company of the caller, and stays in it',
    async ({ abe, ann, cora, zoe }) => {
      for (const act of [abe, cora]) expect(faultOf(await open(act, BOLT))).toEqual(UNKNOWN('/company'))
      expect(faultOf(await open(zoe))).toEqual(UNKNOWN('/company'))
      expect((await open(ann, BOLT)).body).toMatchObject({ number: 2, company: BOLT })
      for (const ticket of [FIRE, DOOR])
        for (const company of [ACME, BOLT]) {
          const { body } = await ann(`PATCH /tickets/${ticket}`, { company })
          const isOwn = (ticket === FIRE) === (company === ACME)
          if (!isOwn) expect([ticket, body.company]).not.toEqual([ticket, company])
        }
      expect((await ann(`GET /tickets/${FIRE}`)).body.company).toBe(ACME)
      expect((await ann(`GET /tickets/${DOOR}`)).body.company).toBe(BOLT)
    },
  ],
  [
    'a ticket is assigned to a membership of its company',
    async ({ abe, ann }) => {
      const assign = async (act: Act, assignee: string) =>
        faultOf(await act(`PATCH /tickets/${FIRE}`, { assignee }))
      expect(await assign(abe, MEMBERSHIP.ben)).toEqual(UNKNOWN('/assignee'))
      expect(await assign(ann, MEMBERSHIP.annInBolt)).toEqual(UNKNOWN('/assignee'))
      expect((await assign(ann, MEMBERSHIP.ann))[0]).toBe(200)
    },
  ],

  [
    'tickets are numbered in their company without gaps, also if many are created at once',
    async ({ abe, cora, ann }) => {
      expect(await statusOf(open(cora, ACME, ''))).toBe(400)
      const sent = await Promise.all([abe, cora, abe, cora, abe, cora, abe, cora].map((act) => open(act)))
      const numbers = sent.map(({ body }) => body.number).sort((a, b) => a - b)
      expect(numbers).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
      expect((await open(ann, BOLT)).body.number).toBe(2)
    },
  ],
  [
    'no caller reads or changes a counter',
    async ({ ann, cora, zoe }) => {
      for (const act of [ann, cora, zoe]) {
        expect(await statusOf(act('GET /counters'))).toBe(403)
        expect(await statusOf(act('GET /counters/count'))).toBe(403)
        expect(await statusOf(act('POST /counters', { last: 9 }))).toBe(403)
        expect(await statusOf(act(`GET /counters/${ACME}`))).toBe(404)
        expect(await statusOf(act(`PATCH /counters/${ACME}`, { last: 9 }))).toBe(404)
        expect(await statusOf(act(`PUT /counters/${ACME}`, { last: 9 }))).toBe(404)
        expect(await statusOf(act(`DELETE /counters/${ACME}`))).toBe(404)
        const path = `/counters/${ACME}`
        for (const [operation, status] of [
          [{ method: 'GET', path }, 404],
          [{ method: 'PUT', path, ifNoneMatch: '*', body: { last: 9 } }, 403],
        ] as const)
          expect(await statusOf(act('POST /_batch', { operations: [operation] }))).toBe(status)
      }
      expect((await open(cora)).body.number).toBe(4)
    },
  ],

  [
    'a customer comments on their ticket, publicly',
    async ({ cora, abe }) => {
      const body = { ticket: FIRE, company: ACME, text: 'Help!', isInternal: true, customer: PEOPLE.carl?.id }
      const sent = await cora('POST /comments', body)
      expect([sent.status, ignoredBy(sent)]).toEqual([201, ['customer', 'isInternal']])
      expect(sent.body).toMatchObject({ isInternal: false, customer: PEOPLE.cora?.id })
      expect(await texts(abe, `?q[createdBy]=${PEOPLE.cora?.id}`)).toEqual(['Help!'])
    },
  ],
  [
    'on no ticket of others, and of no other company than that of the ticket',
    async ({ cora, abe, ann }) => {
      const comment = (act: Act, ticket: string, company: string) =>
        act('POST /comments', { ticket, company, text: 'x', isInternal: true })
      for (const ticket of [PIN, DOOR])
        expect(faultOf(await comment(cora, ticket, ACME))).toEqual(UNKNOWN('/ticket'))
      expect(faultOf(await comment(abe, DOOR, ACME))).toEqual(UNKNOWN('/ticket'))
      // The ticket is in a company in which Ann is a customer, and the comment in one in which she is an agent.
      expect(faultOf(await comment(ann, DOOR, ACME))).toEqual(UNKNOWN('/ticket'))
      expect((await comment(ann, DOOR, BOLT)).body.isInternal).toBe(false)
    },
  ],
  [
    'an agent cannot choose the customer of a comment, and publishes an internal one',
    async ({ abe, cora }) => {
      const body = { ticket: FIRE, company: ACME, text: 'Psst.', isInternal: true, customer: PEOPLE.zoe?.id }
      const sent = await abe('POST /comments', body)
      expect([ignoredBy(sent), sent.body.customer]).toEqual([['customer'], PEOPLE.cora?.id])
      expect(await texts(cora)).toEqual(['Please use the stairs.'])
      expect(await statusOf(abe(`PATCH /comments/${sent.body._id}`, { isInternal: false }))).toBe(200)
      expect(await texts(cora)).toEqual(['Please use the stairs.', 'Psst.'])
    },
  ],
  [
    'a customer changes no comment, not even their own',
    async ({ cora }) => {
      const { body } = await cora('POST /comments', { ticket: FIRE, company: ACME, text: 'Help!' })
      for (const comment of [body._id, STAIRS]) {
        expect(await statusOf(cora(`PATCH /comments/${comment}`, { text: 'x' }))).toBe(403)
        expect(await statusOf(cora(`DELETE /comments/${comment}`))).toBe(403)
      }
    },
  ],

  [
    'no caller creates, renames or deletes a company',
    async ({ ann, zoe }) => {
      for (const act of [ann, zoe]) expect(await statusOf(act('POST /companies', { name: 'Mine' }))).toBe(403)
      expect(await statusOf(ann(`PATCH /companies/${ACME}`, { name: 'Mine' }))).toBe(403)
      expect(await statusOf(ann(`DELETE /companies/${ACME}`))).toBe(403)
    },
  ],
  [
    'an agent joins no other company, and a customer becomes no agent',
    async ({ ann, ben, cora }) => {
      const create = (act: Act, company: string) => act('POST /memberships', { company, role: 'agent' })
      expect(faultOf(await create(ben, ACME))).toEqual(UNKNOWN('/company'))
      for (const act of [ann, cora]) expect(await statusOf(create(act, ACME))).toBe(403)
      expect(await statusOf(create(ann, BOLT))).toBe(403)
      for (const [act, membership] of [
        [ann, MEMBERSHIP.annInBolt],
        [cora, MEMBERSHIP.cora],
      ] as const)
        expect(await statusOf(act(`PATCH /memberships/${membership}`, { role: 'agent' }))).toBe(403)
      await ann(`PATCH /memberships/${MEMBERSHIP.ann}`, { company: BOLT, user: PEOPLE.zoe?.id })
      expect((await ann(`GET /memberships/${MEMBERSHIP.ann}`)).body).toMatchObject({
        company: ACME,
        user: PEOPLE.ann?.id,
      })
    },
  ],
  [
    'nobody is made a member by another',
    async ({ abe, zoe }) => {
      const body = { company: ACME, role: 'agent', user: PEOPLE.zoe?.id }
      expect(await statusOf(abe('POST /memberships', body))).toBe(403)
      // An agent may read the invitation of another, but is a member already.
      expect(await statusOf(accept(abe, { user: PEOPLE.zoe?.id }))).toBe(409)
      expect((await zoe('GET /memberships')).body).toEqual([])
    },
  ],
  [
    'an agent invites into their own company only, a customer into none',
    async ({ abe, ann, ben, cora }) => {
      const invite = (act: Act, company: string) =>
        act('POST /invitations', { company, email: 'Zoe@Example.com', role: 'agent' })
      expect(faultOf(await invite(abe, BOLT))).toEqual(UNKNOWN('/company'))
      expect(await statusOf(invite(ann, BOLT))).toBe(403)
      expect(await statusOf(invite(cora, ACME))).toBe(403)
      expect((await invite(ben, BOLT)).body.email).toBe('zoe@example.com')
    },
  ],
  [
    'an invitation is for the owner of the address, who sees nothing else of the company before',
    async ({ eve, ben, cora, zoe, abe }) => {
      for (const act of [eve, abe]) expect(await values(act('GET /invitations'), '_id')).toEqual([OF_EVE])
      for (const act of [ben, cora, zoe]) expect(await statusOf(act(`GET /invitations/${OF_EVE}`))).toBe(404)
      expect(await values(eve('GET /companies'), 'name')).toEqual(['Acme'])
      for (const name of ['tickets', 'comments', 'memberships', 'audit'])
        expect((await eve(`GET /${name}`)).body).toEqual([])
      expect(await values(eve('GET /users'), 'name')).toEqual(['Eve'])
    },
  ],
  [
    'an accepted invitation makes its owner what it says, and is gone',
    async ({ eve, abe }) => {
      const { status, body } = await accept(eve, { user: PEOPLE.zoe?.id })
      expect([status, body.user, body.role, body.invitation]).toEqual([
        201,
        PEOPLE.eve?.id,
        'customer',
        undefined,
      ])
      expect((await abe('GET /invitations')).body).toEqual([])
      expect((await open(eve)).body.number).toBe(4)
      expect(await titles(eve)).toEqual(['New'])
    },
  ],
  [
    'it cannot be used as another role, in another company, by another account, or guessed',
    async ({ eve, zoe, ben, cora }) => {
      expect(faultOf(await accept(eve, { role: 'agent' }))).toEqual(UNKNOWN('/invitation'))
      expect(faultOf(await accept(eve, { company: BOLT }))).toEqual(UNKNOWN('/company'))
      for (const act of [zoe, ben, cora]) expect((await accept(act)).status).toBe(400)
      expect((await accept(eve, { invitation: id('39') })).status).toBe(400)
      expect(await statusOf(eve(`PATCH /invitations/${OF_EVE}`, { role: 'agent' }))).toBe(403)
      expect((await eve('GET /memberships')).body).toEqual([])
    },
  ],
  [
    'it cannot be used twice, also not at the same time or after leaving',
    async ({ eve }) => {
      const both = await Promise.all([accept(eve), accept(eve)])
      const [first, second] = both.map(({ status }) => status).sort((a, b) => a - b)
      expect(first).toBe(201)
      expect([400, 409]).toContain(second)
      expect((await eve('GET /memberships')).body).toHaveLength(1)
      const [own] = (await eve('GET /memberships')).body
      expect(await statusOf(eve(`DELETE /memberships/${own._id}`))).toBe(204)
      expect((await accept(eve)).status).toBe(400)
    },
  ],
  [
    'the invited user may decline, and an agent may take it back',
    async ({ eve, abe, cora }) => {
      expect(await statusOf(cora(`DELETE /invitations/${OF_EVE}`))).toBe(404)
      expect(await statusOf(eve(`DELETE /invitations/${OF_EVE}`))).toBe(204)
      expect((await accept(eve)).status).toBe(400)
      const again = await abe('POST /invitations', { company: ACME, email: 'eve@example.com', role: 'agent' })
      expect(await statusOf(abe(`DELETE /invitations/${again.body._id}`))).toBe(204)
      expect((await accept(eve, { invitation: again.body._id })).status).toBe(400)
    },
  ],
  [
    'a user cannot take the address of another',
    async ({ zoe }) => {
      const { headers, body } = await zoe(`PATCH /users/${PEOPLE.zoe?.id}`, {
        email: 'eve@example.com',
        name: 'Eve',
      })
      expect([headers.get('ignored-properties'), body.email]).toEqual(['"email"', 'zoe@example.com'])
    },
  ],
  [
    'a customer whose membership ends sees nothing more',
    async ({ abe, cora }) => {
      expect(await statusOf(abe(`DELETE /memberships/${MEMBERSHIP.cora}`))).toBe(204)
      for (const name of ['tickets', 'comments', 'companies', 'memberships'])
        expect([name, (await cora(`GET /${name}`)).body]).toEqual([name, []])
      expect(await statusOf(cora(`PATCH /tickets/${FIRE}`, { title: 'x' }))).toBe(404)
      expect(await values(cora('GET /users'), 'name')).toEqual(['Cora'])
    },
  ],
  [
    'an agent who becomes a customer reads as one',
    async ({ ann, abe }) => {
      expect(await statusOf(ann(`PATCH /memberships/${MEMBERSHIP.abe}`, { role: 'customer' }))).toBe(200)
      expect(await titles(abe)).toEqual([])
      expect((await abe('GET /audit')).body).toEqual([])
      expect(await statusOf(abe(`PATCH /memberships/${MEMBERSHIP.abe}`, { role: 'agent' }))).toBe(403)
    },
  ],

  [
    'each write is in the log, with its actor',
    async ({ abe, ann, cora, eve }) => {
      const ticket = (await open(cora)).body._id
      await abe(`PATCH /tickets/${ticket}`, { status: 'solved' })
      await ann(`DELETE /tickets/${ticket}`)
      await accept(eve)
      const { body } = await abe('GET /audit?sort[createdAt]=1')
      const actors = Object.fromEntries(Object.entries(PEOPLE).map(([name, one]) => [one.id, name]))
      const lines = body.map(
        (one: { [name: string]: string }) =>
          `${one.operation} ${one.collection} ${actors[one.createdBy ?? '']}`,
      )
      expect(lines).toEqual([
        'create tickets cora',
        'update tickets abe',
        'delete tickets ann',
        'create memberships eve',
      ])
      expect(body[0].after.number).toBe(4)
      expect(body[1]).toMatchObject({
        document: ticket,
        before: { status: 'open' },
        after: { status: 'solved' },
      })
    },
  ],
  [
    'a rejected write leaves no entry',
    async ({ abe, cora }) => {
      await cora(`DELETE /tickets/${FIRE}`)
      await open(cora, ACME, '')
      await abe('POST /tickets', { company: ACME, title: 'x', assignee: MEMBERSHIP.ben })
      expect((await abe('GET /audit')).body).toEqual([])
    },
  ],
  [
    'only agents read the log of their company, and no caller writes it',
    async ({ ann, ben, cora, zoe }) => {
      await open(ann, BOLT)
      await open(cora)
      expect(await values(ann('GET /audit'), 'company')).toEqual([ACME])
      expect(await values(ben('GET /audit'), 'company')).toEqual([BOLT])
      for (const act of [cora, zoe]) expect((await act('GET /audit')).body).toEqual([])
      const [entry] = (await ann('GET /audit')).body
      const body = { company: ACME, collection: 'tickets', document: FIRE, operation: 'delete' }
      for (const act of [ann, cora]) expect(await statusOf(act('POST /audit', body))).toBe(403)
      expect(await statusOf(ann(`PATCH /audit/${entry._id}`, { operation: 'delete' }))).toBe(403)
      expect(await statusOf(ann(`DELETE /audit/${entry._id}`))).toBe(403)
    },
  ],
]

describe.each(useStorages())('on %s', (_, create) => {
  let desk: Awaited<ReturnType<typeof openHelpDesk>>
  beforeAll(async () => {
    desk = await openHelpDesk(create())
  })
  beforeEach(() => desk.reset())
  afterAll(() => desk.handler.close())

  test.each(SENTENCES)('%s', (_, holds) => {
    const cast = NAMES.map((name) => [name, actAs(desk, PEOPLE[name])])
    return holds(Object.fromEntries(cast))
  })
})

/** A help desk of its own for a test, which is closed at its end. */
async function useHelpDesk(
  hold: (desk: Awaited<ReturnType<typeof openHelpDesk>>) => Promise<void>,
): Promise<void> {
  const desk = await openHelpDesk(createMemoryAdapter({ documents: DOCUMENTS }))
  try {
    await hold(desk)
  } finally {
    await desk.handler.close()
  }
}

test('the live lists of a customer show what the lists do, and nothing of the rest', () =>
  useHelpDesk(async (desk) => {
    const abe = actAs(desk, PEOPLE.abe)
    const stream = async (path: string) =>
      readStream(await desk.handler.as(PEOPLE.cora ?? null)(new Request(`http://service.test${path}`)))
    const tickets = await stream('/tickets/changes')
    const comments = await stream('/comments/changes?q[isInternal]=true')
    const all = await stream('/comments/changes')
    for (const one of [tickets, comments, all]) await one.until(1)
    desk.tick()
    await abe(`PATCH /tickets/${PIN}`, { priority: 3 })
    await abe(`PATCH /tickets/${FIRE}`, { assignee: MEMBERSHIP.ann })
    const internal = { ticket: FIRE, company: ACME, text: 'Psst.', isInternal: true }
    const { _id } = (await abe('POST /comments', internal)).body
    await abe(`PATCH /comments/${_id}`, { text: 'Psst!' })
    await abe(`PATCH /tickets/${FIRE}`, { status: 'waiting' })
    await abe('POST /comments', { ...internal, text: 'Better?', isInternal: false })
    await tickets.until(3)
    await all.until(2)
    await abe(`DELETE /memberships/${MEMBERSHIP.cora}`)
    await tickets.until(4)
    await all.until(3)
    await comments.until(2)
    const told = ({ events }: Awaited<ReturnType<typeof stream>>) =>
      events.map(({ event, data }) => [event, data.status ?? data.text])
    expect(tickets.text).not.toContain('assignee')
    expect(told(tickets)).toEqual([
      ['reset', undefined],
      // The assignee is hidden, but the time of the change is not.
      ['change', 'open'],
      ['change', 'waiting'],
      ['reset', undefined],
    ])
    expect(told(all)).toEqual([
      ['reset', undefined],
      ['enter', 'Better?'],
      ['reset', undefined],
    ])
    expect(told(comments)).toEqual([
      ['reset', undefined],
      ['reset', undefined],
    ])
  }))

test('a customer gets a mail for each new public comment of others', () =>
  useHelpDesk(async (desk) => {
    const [abe, cora] = [actAs(desk, PEOPLE.abe), actAs(desk, PEOPLE.cora)]
    const comment = async (act: Act, text: string, isInternal = false) =>
      (await act('POST /comments', { ticket: FIRE, company: ACME, text, isInternal })).body._id
    const secret = await comment(abe, 'Psst.', true)
    await comment(cora, 'It burns!')
    await comment(abe, 'The stairs!')
    await abe(`PATCH /comments/${secret}`, { text: 'Now public.', isInternal: false })
    const own = () => desk.mails.filter(({ to }) => to === 'cora@example.com')
    await until(() => own().length >= 2)
    // After the end of the membership, no mail has a word of the company.
    const last = await comment(abe, 'Psst again.', true)
    await abe(`DELETE /memberships/${MEMBERSHIP.cora}`)
    await abe(`PATCH /comments/${last}`, { isInternal: false })
    await abe('POST /comments', { ticket: PIN, company: ACME, text: 'Try 1234.' })
    await until(() => desk.mails.some(({ to }) => to === 'carl@example.com'))
    expect(own().sort((a, b) => a.text.localeCompare(b.text))).toEqual([
      { to: 'cora@example.com', subject: '#1 The printer is on fire', text: 'Now public.' },
      { to: 'cora@example.com', subject: '#1 The printer is on fire', text: 'The stairs!' },
    ])
  }))

test('a dashboard has a group for each status, and for each day since a time', () =>
  useHelpDesk(async (desk) => {
    const week = new Date(Date.now() - 7 * 86_400_000)
    const read = (name: string) => readDashboard(desk.handler.as(PEOPLE[name] ?? null), 'Europe/Oslo', week)
    const { byStatus, byDay } = await read('abe')
    expect(byStatus).toEqual([
      { key: { status: 'open' }, count: 1, avg: { priority: 3 } },
      { key: { status: 'solved' }, count: 1, avg: { priority: 2 } },
      { key: { status: 'waiting' }, count: 1, avg: { priority: 2 } },
    ])
    expect(byDay.reduce((total, { count }) => total + count, 0)).toBe(3)
    expect((await read('cora')).byDay.reduce((total, { count }) => total + count, 0)).toBe(2)
  }))

test('a company that code opens gets its first agent by mail', () =>
  useHelpDesk(async (desk) => {
    const company = await desk.openCompany('Cord', 'Dora@Example.com')
    const mailed = (subject: string) =>
      desk.mails.find((mail) => mail.to === 'dora@example.com' && mail.subject === subject)
    await until(() => mailed('Cord invites you') !== undefined)
    const account = { email: 'dora@example.com', password: 'battery staple', name: 'Dora' }
    expect(await statusOf(desk.send('POST /auth/register', { body: account }))).toBe(202)
    await until(() => mailed('Help desk: verification') !== undefined)
    const { email, password } = account
    const login = () => desk.send('POST /auth/login', { body: { email, password } })
    // The address counts only after it is verified.
    expect((await login()).status).toBe(401)
    const [, token] = /#token=(\S+)/.exec(mailed('Help desk: verification')?.text ?? '') ?? []
    const verified = await desk.send('POST /auth/verify', { body: { token, current: password } })
    expect(verified.status).toBe(204)
    const dora = { token: (await login()).body.token }
    const [invitation] = (await desk.send('GET /invitations', dora)).body
    expect(invitation).toMatchObject({ company, role: 'agent', createdBy: null })
    const body = { company, role: 'agent', invitation: invitation._id }
    expect((await desk.send('POST /memberships', { ...dora, body })).status).toBe(201)
    const ticket = { company, title: 'The first one' }
    expect((await desk.send('POST /tickets', { ...dora, body: ticket })).body.number).toBe(1)
    const audit = await desk.list('/audit?sort[createdAt]=1', 'collection', dora)
    expect(audit).toEqual(['invitations', 'memberships', 'tickets'])
  }))

test('a company that code deletes takes everything with it but the entries of its log', () =>
  useHelpDesk(async (desk) => {
    const system = desk.handler.system()
    const send = (method: string, path: string) =>
      system(new Request(`http://service.test${path}`, { method }))
    expect((await send('DELETE', `/companies/${ACME}`)).status).toBe(204)
    const entries: readonly { readonly operation: string; readonly createdBy: unknown }[] = await (
      await send('GET', `/audit?q[company]=${ACME}`)
    ).json()
    expect(entries.filter(({ operation }) => operation === 'delete')).toHaveLength(10)
    expect(new Set(entries.map(({ createdBy }) => createdBy))).toEqual(new Set([null]))
    const abe = actAs(desk, PEOPLE.abe)
    for (const name of ['tickets', 'comments', 'memberships', 'invitations', 'audit'])
      expect([name, (await abe(`GET /${name}`)).body]).toEqual([name, []])
  }))

// The rules alone, without hooks: a failure prints why.
describe('the rules', () => {
  const given = { documents: DOCUMENTS }
  const caller = (name: string) => ({ id: PEOPLE[name]?.id ?? '' })

  test.each([
    ['cora', 'PATCH', `/tickets/${PIN}`, { title: 'Mine' }],
    ['cora', 'PATCH', `/tickets/${KEYBOARD}`, { status: 'open' }],
    ['ben', 'PATCH', `/tickets/${FIRE}`, { status: 'solved' }],
    ['cora', 'GET', `/comments/${INTERNAL}`, undefined],
    ['carl', 'GET', `/counters/${ACME}`, undefined],
    ['ann', 'DELETE', `/companies/${BOLT}`, undefined],
  ])('deny %s: %s %s', async (name, method, path, body) => {
    await expectDenied(CONFIG, caller(name), method, path, { ...given, ...(body ? { body } : {}) })
  })

  test('allow what is left', async () => {
    const solve = { ...given, body: { status: 'solved' } }
    await expectAllowed(CONFIG, caller('abe'), 'PATCH', `/tickets/${FIRE}`, solve)
    await expectAllowed(CONFIG, caller('cora'), 'PATCH', `/tickets/${FIRE}`, {
      ...given,
      body: { title: 'Fire!' },
    })
    const full = { title: 'Fire!', priority: 1 }
    const { ignored } = await expectAllowed(CONFIG, caller('cora'), 'PATCH', `/tickets/${FIRE}`, {
      ...given,
      body: full,
      ignored: ['priority'],
    })
    expect(ignored).toEqual(['priority'])
  })
})

test('the code is short', async () => {
  const folder = new URL('../../examples/helpdesk/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts'))
  const programs = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  const lines = programs
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '')
  expect(lines.length).toBeLessThan(120)
})
