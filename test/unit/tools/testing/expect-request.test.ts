import { expect, test } from 'vitest'
import { type ExpectOptions, expectAllowed, expectDenied } from '../../../../src/tools/testing/index.js'
import {
  ann,
  articles,
  bob,
  DRAFT,
  documents,
  editor,
  NOBODYS,
  PUBLISHED,
} from '../insight/explain/articles.js'

// CONTRACT.md §8, "Permissions as unit tests"

type Caller = Parameters<typeof expectAllowed>[1]
type Verdict = 'allowed' | 'denied' | 'neither'

test.each<readonly [what: string, caller: Caller, line: string, options: ExpectOptions, verdict: Verdict]>([
  ['a document that may be read', null, `GET /articles/${PUBLISHED}`, {}, 'allowed'],
  ['one that may not', null, `GET /articles/${DRAFT}`, {}, 'denied'],
  ['one that does not exist', null, `GET /articles/${NOBODYS}`, {}, 'neither'],
  ['no operation', bob, 'PATCH /articles', { body: {} }, 'neither'],
  ['a path that there is not', null, 'GET /artcles', {}, 'neither'],
  ['a list', null, 'GET /articles?q[status]="published"', {}, 'allowed'],
  ['a list by a field that is not shown', null, 'GET /articles?q[views]=1', {}, 'neither'],
  ['a create', bob, 'POST /articles', { body: { title: 'A' } }, 'allowed'],
  ['one by nobody', null, 'POST /articles', { body: { title: 'A' } }, 'denied'],
  ['one with faults', bob, 'POST /articles', { body: { title: 1 } }, 'neither'],
  ['a body that is no JSON', bob, 'POST /articles', { body: '{' }, 'neither'],
  ['something dropped', bob, 'POST /articles', { body: { title: 'A', views: 1 } }, 'neither'],
  [
    'what may be dropped',
    bob,
    'POST /articles',
    { body: { title: 'A', views: 1 }, ignored: ['views'] },
    'allowed',
  ],
  [
    'something else',
    bob,
    'POST /articles',
    { body: { title: 'A', views: 1 }, ignored: ['status'] },
    'neither',
  ],
  ['a name that no header holds', bob, 'POST /articles', { body: { title: 'A', 'a b': 1 } }, 'neither'],
  ['a field of the service', bob, 'POST /articles', { body: { title: 'A', _id: 'x' } }, 'neither'],
  [
    'a change that a check refuses',
    ann,
    `PATCH /articles/${DRAFT}`,
    { body: { status: 'published' } },
    'denied',
  ],
  ['a change', editor, `PATCH /articles/${DRAFT}`, { body: { status: 'published' } }, 'allowed'],
  ['a change of what one may not see', bob, `PATCH /articles/${DRAFT}`, { body: { title: 'A' } }, 'denied'],
  [
    'a condition',
    editor,
    `PATCH /articles/${DRAFT}`,
    { body: {}, headers: { 'if-match': '"x"' } },
    'neither',
  ],
  [
    'what a batch drops',
    bob,
    'POST /_batch',
    { body: { operations: [{ method: 'POST', path: '/articles', body: { title: 'A', views: 1 } }] } },
    'neither',
  ],
])('%s', async (_, caller, line, options, verdict) => {
  const [method = '', path = ''] = line.split(' ')
  const asked = [articles, caller, method, path, { documents, ...options }] as const
  const outcomeOf = async (expecting: typeof expectAllowed): Promise<boolean> =>
    expecting(...asked).then(
      () => true,
      (thrown: Error) => {
        // The explanation begins with the request.
        expect(thrown.message).toContain(`\n\n${method} ${path}`)
        return false
      },
    )
  expect(await outcomeOf(expectAllowed)).toBe(verdict === 'allowed')
  expect(await outcomeOf(expectDenied)).toBe(verdict === 'denied')
})

test('what was answered comes back', async () => {
  const body = { title: 'A', views: 1, status: 'published' }
  const answer = await expectAllowed(articles, bob, 'POST', '/articles', {
    body,
    ignored: ['status', 'views'],
  })
  expect(answer).toMatchObject({ status: 201, body: { title: 'A' }, ignored: ['status', 'views'] })
  const denied = await expectDenied(articles, null, 'POST', '/articles', { body })
  expect(denied).toMatchObject({ status: 401, body: { code: 'unauthenticated' }, ignored: [] })
})

test('a failure says what would have helped', async () => {
  await expect(expectAllowed(articles, null, 'POST', '/articles', { body: { title: 'A' } })).rejects.toThrow(
    '/collections/articles/permissions/*/create',
  )
})

test.each([
  [
    'without the document, allowed',
    expectAllowed,
    'PATCH',
    `/articles/${DRAFT}`,
    '"documents" contains no such document',
  ],
  ['with a body that is wrong, denied', expectDenied, 'POST', '/articles', 'A 400 is not a denial'],
] as const)(
  '%s is not expected rightly, and the message says why',
  async (_, expecting, method, path, said) => {
    await expect(expecting(articles, editor, method, path, { body: { title: 5 } })).rejects.toThrow(said)
  },
)
