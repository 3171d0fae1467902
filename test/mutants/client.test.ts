import { describe, expect, test } from 'vitest'
import type * as Answers from '../../src/client/answers.js'
import type * as ClientModule from '../../src/client/client.js'
import type * as ClientErrors from '../../src/client/client-error.js'
import type * as Documents from '../../src/client/documents.js'
import type * as Following from '../../src/client/following.js'
import type * as LiveList from '../../src/client/live-list.js'
import type * as Pages from '../../src/client/pages.js'
import type * as Retry from '../../src/client/retry.js'
import type * as Waiting from '../../src/client/waiting.js'
import { checkMany, checkPages, checkRetry, checkShown, checkUpsert } from '../support/client-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Calls of the client broken on purpose: what guards the real ones has to notice each of them. */

const ANSWERS = '../../src/client/answers.js'
const CLIENT_ERROR = '../../src/client/client-error.js'
const DOCUMENTS = '../../src/client/documents.js'
const FOLLOWING = '../../src/client/following.js'
const LIVE = '../../src/client/live-list.js'
const PAGES = '../../src/client/pages.js'
const RETRY = '../../src/client/retry.js'
const WAITING = '../../src/client/waiting.js'

type Replace = Mutant[2]

/** A module with other exports. */
const replacing =
  <T extends object>(change: (real: T) => Partial<T>): Replace =>
  async (original) => {
    const real = (await original()) as T
    return { ...real, ...change(real) }
  }

type PageCalls = ReturnType<typeof Pages.createPages>

const otherPages = (change: (calls: PageCalls) => Partial<PageCalls>): Replace =>
  replacing<typeof Pages>(({ createPages }) => ({
    createPages: (...args) => {
      const calls = createPages(...args)
      return { ...calls, ...change(calls) }
    },
  }))

type ReadByIds = typeof Pages.readByIds

/** The documents of events are read in another way. */
const otherReads = (change: (real: ReadByIds) => ReadByIds): Replace =>
  replacing<typeof Pages>(({ readByIds }) => ({ readByIds: change(readByIds) }))

type DocumentCalls = ReturnType<typeof Documents.createDocuments>

const otherUpsert = (change: (calls: DocumentCalls) => DocumentCalls['upsert']): Replace =>
  replacing<typeof Documents>(({ createDocuments }) => ({
    createDocuments: (...args) => {
      const calls = createDocuments(...args)
      return { ...calls, upsert: change(calls) }
    },
  }))

const idOf = (document: string | { readonly _id: string }): string =>
  typeof document === 'string' ? document : document._id

type Send = ReturnType<typeof Retry.retry>

/** What `retry` takes a request for, although it sends the real one. */
const takenFor = (change: (init: RequestInit) => RequestInit): Replace =>
  replacing<typeof Retry>(({ retry }) => ({
    retry: ({ fetch: send = fetch, ...others } = {}): Send => {
      return (url, init) => retry({ ...others, fetch: () => send(url, init) })(url, change(init))
    },
  }))

const otherOptions = (change: (options: Retry.RetryOptions) => Retry.RetryOptions): Replace =>
  replacing<typeof Retry>(({ retry }) => ({ retry: (options = {}) => retry(change(options)) }))

const PAGE_MUTANTS: readonly Mutant[] = [
  [
    'the total is that of the page',
    PAGES,
    otherPages(({ page }) => ({
      async page(asked) {
        const found = await page(asked)
        return found && { ...found, total: found.total && found.items.length }
      },
    })),
  ],
  [
    'the total is always requested',
    PAGES,
    otherPages(({ page }) => ({ page: (asked) => page({ ...asked, total: true }) })),
  ],
  [
    'there is no next page where no cursor leads on',
    ANSWERS,
    replacing<typeof Answers>(({ placeOf }) => ({
      placeOf: (headers) => {
        const place = placeOf(headers)
        return place?.after ? place : undefined
      },
    })),
  ],
  [
    'the next page begins where this one did',
    ANSWERS,
    replacing<typeof Answers>(({ placeOf }) => ({
      placeOf: (headers) => placeOf(headers) && { after: undefined, skip: 0 },
    })),
  ],
  [
    'a page may be too long to lead on',
    PAGES,
    otherPages(({ page }) => ({
      page: ({ limit, ...asked } = {}) => page({ ...asked, limit: Math.min(limit ?? 1000, 1000) }),
    })),
  ],
]

const MANY_MUTANTS: readonly Mutant[] = [
  [
    'documents come in the order of the service',
    PAGES,
    otherPages(({ getMany }) => ({ getMany: (ids, ...more) => getMany([...ids].sort(), ...more) })),
  ],
  [
    'documents that are not there are left out',
    PAGES,
    otherPages(({ getMany }) => ({ getMany: async (...args) => (await getMany(...args)).filter(Boolean) })),
  ],
  [
    'a document is given once',
    PAGES,
    otherPages(({ getMany }) => ({ getMany: (ids, ...more) => getMany([...new Set(ids)], ...more) })),
  ],
  [
    'options of documents by their ids are not sent',
    PAGES,
    otherPages(({ getMany }) => ({ getMany: (ids) => getMany(ids) })),
  ],
  [
    'a request with too many ids is not divided',
    CLIENT_ERROR,
    replacing<typeof ClientErrors>(() => ({ isClientError: (_): _ is never => false })),
  ],
]

const UPSERT_MUTANTS: readonly Mutant[] = [
  [
    'upsert replaces at once',
    DOCUMENTS,
    otherUpsert(
      ({ replace }) =>
        (...args) =>
          replace(...args),
    ),
  ],
  [
    'upsert never replaces',
    DOCUMENTS,
    otherUpsert(
      ({ create }) =>
        (document, body) =>
          create(body, { id: idOf(document) }),
    ),
  ],
  [
    'upsert replaces what another has changed',
    DOCUMENTS,
    otherUpsert(
      ({ upsert }) =>
        (document, ...more) =>
          upsert(idOf(document), ...more),
    ),
  ],
  [
    'upsert replaces where the create is refused',
    DOCUMENTS,
    otherUpsert(({ upsert, replace }) => async (document, body) => {
      try {
        return await upsert(document, body)
      } catch {
        return replace(idOf(document), body)
      }
    }),
  ],
  [
    'upsert changes where it would replace',
    DOCUMENTS,
    otherUpsert(({ create, update }) => async (document, body) => {
      try {
        return await create(body, { id: idOf(document) })
      } catch (thrown) {
        if ((thrown as { readonly code: string }).code !== 'precondition_failed') throw thrown
        return update(document, body)
      }
    }),
  ],
]

const SHOWN_MUTANTS: readonly Mutant[] = [
  [
    'a live list shows the fields of its order',
    LIVE,
    replacing<typeof LiveList>(({ createLive }) => ({
      createLive: (...args) => ({
        live: (asked = {}) => {
          const { project, sort = {} } = asked
          const shown = project ? { project: [...project, ...Object.keys(sort)] } : {}
          return createLive(...args).live({ ...asked, ...shown })
        },
      }),
    })),
  ],
  [
    'the events of a live list lack the fields of its order',
    FOLLOWING,
    replacing<typeof Following>(({ followEvents }) => ({
      followEvents: (path, transport, { project, ...asked }) =>
        followEvents(path, transport, { ...asked, project: project?.filter((name) => name !== 'n') }),
    })),
  ],
  [
    'the documents of events are not expanded',
    PAGES,
    otherReads(
      (read) =>
        (list, ids, { expand: _, ...asked }, more) =>
          read(list, ids, asked, more),
    ),
  ],
  [
    'the documents of events are read without the filter',
    PAGES,
    otherReads(
      (read) =>
        (list, ids, { q: _, ...asked }, more) =>
          read(list, ids, asked, more),
    ),
  ],
  [
    'all documents of a list are read again',
    PAGES,
    otherReads((read) => async (list, ids, asked, more) => {
      const { body } = await list('', more)
      return read(list, [...ids, ...body.map(({ _id }: { _id: string }) => _id)], asked, more)
    }),
  ],
  [
    'a document that has left before it is read again is shown',
    PAGES,
    otherReads((read) => async (list, ids, asked, more) => {
      const documents = await read(list, ids, asked, more)
      return ids.map((_id) => documents.find((document) => document._id === _id) ?? { _id })
    }),
  ],
]

const RETRY_MUTANTS: readonly Mutant[] = [
  ['every request is repeated', RETRY, takenFor((init) => ({ ...init, method: 'GET', body: null }))],
  [
    'a create under an id is not repeated',
    RETRY,
    takenFor(({ headers, ...init }) => {
      const others = new Headers(headers)
      others.delete('if-none-match')
      return { ...init, headers: others }
    }),
  ],
  [
    'a write to a version is not repeated',
    RETRY,
    takenFor(({ headers, ...init }) => {
      const others = new Headers(headers)
      others.delete('if-match')
      return { ...init, headers: others }
    }),
  ],
  [
    'a request is repeated five times, whatever is allowed',
    RETRY,
    otherOptions((options) => ({ ...options, attempts: 5 })),
  ],
  [
    'a pause is as long as any service asks for',
    RETRY,
    otherOptions((options) => ({ ...options, pauseSeconds: 3600 })),
  ],
  [
    'what a service asks for is not heeded',
    RETRY,
    otherOptions(({ fetch: send = fetch, ...options }) => ({
      ...options,
      async fetch(...args) {
        const { status, headers, body } = await send(...args)
        const others = new Headers(headers)
        others.delete('retry-after')
        return new Response(body, { status, headers: others })
      },
    })),
  ],
  [
    'pauses do not grow',
    WAITING,
    replacing<typeof Waiting>(({ pauseAfter }) => ({ pauseAfter: () => pauseAfter(0) * 0.9 })),
  ],
  [
    'a pause outlasts its signal',
    WAITING,
    replacing<typeof Waiting>(({ pause }) => ({ pause: (milliseconds) => pause(milliseconds, undefined) })),
  ],
]

const load = (mutant: Mutant): Promise<typeof ClientModule> =>
  loadMutant(mutant, () => import('../../src/client/client.js'))

describe.each([
  ['page', PAGE_MUTANTS, checkPages],
  ['getMany', MANY_MUTANTS, checkMany],
  ['upsert', UPSERT_MUTANTS, checkUpsert],
  ['live with project and expand', SHOWN_MUTANTS, checkShown],
  ['retry', RETRY_MUTANTS, checkRetry],
] as const)('%s:', (_, mutants, check) => {
  test('the real one passes', async () => {
    await check(await load(['nothing is broken', ANSWERS, replacing<typeof Answers>(() => ({}))]))
  })

  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    expect(await fails(check(await load(mutant)))).toBe(true)
  })
})
