import { beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { createTestService, type TestService } from '../support/service.js'

// CONTRACT.md §5, "Several rules of one subject"

const OWN = '0189abcd-0000-7000-8000-000000000001'
const DRAFT = '0189abcd-0000-7000-8000-000000000002'
const PUBLIC = '0189abcd-0000-7000-8000-000000000003'

const mallory: Caller = { id: 'mallory', roles: ['*', 'owner', 'update/0', '0', '__proto__'] }

const text = { type: 'string' }

/** Writers change their own notes; others comment on drafts, and read what is public in part. */
const config = {
  collections: {
    notes: {
      schema: { title: text, state: text, comment: text, editor: text, secret: text, n: { type: 'integer' } },
      permissions: {
        user: {
          read: [
            { where: { state: 'public' }, pick: ['title', 'state'] },
            { where: { state: 'draft' }, pick: ['title', 'state', 'comment', 'editor'] },
            { where: { createdBy: '$user._id' } },
          ],
          update: [
            {
              where: { createdBy: '$user._id' },
              pick: ['title', 'state', 'n'],
              check: { state: { $in: ['draft', 'public'] } },
            },
            { where: { state: 'draft' }, pick: ['comment'], set: { editor: '$user._id' } },
          ],
          delete: [{ where: { createdBy: '$user._id', state: 'draft' } }, { where: { state: 'trash' } }],
        },
        auditor: { read: true },
      },
    },
  },
}

const documents = {
  notes: [
    { _id: OWN, title: 'own', state: 'draft', secret: 'mine', createdBy: 'mallory' },
    { _id: DRAFT, title: 'draft', state: 'draft', secret: 'zeta', createdBy: 'ben' },
    { _id: PUBLIC, title: 'public', state: 'public', comment: 'inside', secret: 'zeta', createdBy: 'ben' },
  ],
}

let service: TestService
beforeEach(() => {
  service = createTestService(config, { documents, authenticate: () => null })
})

const storedAt = async (id: string): Promise<object> => {
  const auditor = { id: 'a', roles: ['auditor'] }
  return (await service.send(`GET /notes/${id}`, { caller: auditor })).body
}

describe('an attack through another rule of the array', () => {
  test.each<[what: string, line: string, body: object | undefined, status: number]>([
    ['faults do not lead to the next rule', `PATCH /notes/${OWN}`, { title: 5, comment: 'x' }, 400],
    ['nor do those of what the next one drops', `PATCH /notes/${OWN}`, { n: 'x' }, 400],
    ['a refused check does not', `PATCH /notes/${OWN}`, { state: 'locked' }, 403],
    ['nor with a PUT', `PUT /notes/${OWN}`, { state: 'locked' }, 403],
    ['a rule of own notes is none of others', `PATCH /notes/${DRAFT}`, { title: 'mine' }, 200],
    ['nor where another names it', `PATCH /notes/${PUBLIC}`, { title: 'mine' }, 403],
    ['a comment on what is no draft', `PATCH /notes/${PUBLIC}`, { comment: 'mine' }, 403],
    ['a delete of a draft of others', `DELETE /notes/${DRAFT}`, undefined, 403],
    ['a delete of what is public', `DELETE /notes/${PUBLIC}`, undefined, 403],
  ])('%s', async (_, line, body, status) => {
    const id = line.split('/')[2] ?? ''
    const before = await storedAt(id)
    const answer = await service.send(line, { caller: mallory, ...(body ? { body } : {}) })
    expect(answer.status).toBe(status)
    expect(await storedAt(id)).toEqual(before)
  })

  test('a write is no mixture of two rules', async () => {
    const body = { title: 'new', comment: 'new', editor: 'ben', secret: 'new' }
    await service.send(`PATCH /notes/${OWN}`, { caller: mallory, body })
    expect(await storedAt(OWN)).toMatchObject({ title: 'new', secret: 'mine' })
    expect(await storedAt(OWN)).not.toHaveProperty('comment')
    await service.send(`PATCH /notes/${DRAFT}`, { caller: mallory, body })
    expect(await storedAt(DRAFT)).toMatchObject({
      title: 'draft',
      comment: 'new',
      editor: 'mallory',
      secret: 'zeta',
    })
  })

  test('no rule for other notes shows, filters or sorts by what is hidden', async () => {
    const list = (query: string) => service.send(`GET /notes?${query}`, { caller: mallory })
    const { text: all } = await list('')
    expect(all).not.toMatch(/zeta|inside/)
    expect((await list('q[secret]="zeta"')).body).toEqual([])
    expect((await list('q[secret][$ne]="x"')).body).toHaveLength(3)
    expect((await list('q[comment]="inside"')).body).toEqual([])
    expect((await list('sort[secret]=1')).status).toBe(400)
    expect((await list('sort[comment]=1')).status).toBe(400)
  })

  test.each<[what: string, update: unknown]>([
    ['an array-like object', { 0: {}, length: 1 }],
    ['a hole', Object.assign([], { 1: {} })],
    ['a text', ['true']],
    ['null', [null]],
  ])('%s is no array of rules', (_, update) => {
    const notes = { ...config.collections.notes, permissions: { user: { read: true, update } } }
    expect(() => createTestService({ collections: { notes } })).toThrow(/permissions\/user\/update/)
  })
})
