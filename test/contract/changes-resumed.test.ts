import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { type OpenStream, told } from '../support/event-streams.js'
import { encodePath } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { ADMIN, config, useStreams } from './support/changes.js'

// CONTRACT.md §9, "Resuming"

const serve = useStreams()

const idOf = (events: readonly { readonly id: string | undefined }[], i: number): string =>
  events[i]?.id ?? ''
const namesOf = (events: readonly { readonly event: string }[]): readonly string[] =>
  events.map(({ event }) => event)

describe.each(useStorages())('in %s', (_, create) => {
  test('a stream goes on exactly behind the event that its client names', async () => {
    const { open, write } = await serve({ adapter: create() })
    const stream = await open('/notes/changes?q[text][$ne]="x"', { caller: ADMIN })
    const { _id } = await write('POST /notes', { text: 'a' })
    await write(`PATCH /notes/${_id}`, { text: 'b' })
    await write(`PATCH /notes/${_id}`, { text: 'c' })
    const events = await stream.until(4)
    await stream.close()
    await write(`PATCH /notes/${_id}`, { text: 'd' })
    await write(`PATCH /notes/${_id}`, { text: 'x' })
    const path = '/notes/changes?q[text][$ne]="x"'
    const byHeader = { caller: ADMIN, headers: { 'last-event-id': idOf(events, 2) } }
    const header = await open(path, byHeader)
    // What an address says is what it began with.
    const both = await open(`${path}&after=${idOf(events, 0)}`, byHeader)
    const parameter = await open(`${path}&after=${idOf(events, 1)}`, { caller: ADMIN })
    const textsOf = async (stream: OpenStream, count: number) => {
      const seen = told(await stream.until(count))
      return seen.map(([name, data]) => (data as { text?: string }).text ?? name)
    }
    const behind = ['b', 'c', 'd', 'leave']
    for (const [stream, rest] of [
      [header, behind.slice(1)],
      [both, behind.slice(1)],
      [parameter, behind],
    ] as const)
      expect(await textsOf(stream, rest.length)).toEqual(rest)
    // The header counts first, then `lastEventId`, then `after`; an empty one counts as absent.
    const [zero, one, two] = [0, 1, 2].map((i) => idOf(events, i))
    for (const [last, query, rest] of [
      [undefined, `lastEventId=${two}`, behind.slice(1)],
      [undefined, `last%45ventId=${one}`, behind],
      [undefined, `lastEventId=${two}&after=${zero}`, behind.slice(1)],
      [undefined, `after=${zero}&lastEventId=${two}`, behind.slice(1)],
      [undefined, `lastEventId=&after=${one}`, behind],
      [undefined, `lastEventId=${one}&after=`, behind],
      [two, `lastEventId=${zero}&after=${zero}`, behind.slice(1)],
      [two, 'lastEventId=&after=', behind.slice(1)],
      ['', `lastEventId=${two}&after=${zero}`, behind.slice(1)],
      [undefined, 'lastEventId=', ['reset']],
      [undefined, 'after=&lastEventId=', ['reset']],
    ] as const) {
      const headers = last === undefined ? {} : { 'last-event-id': last }
      const stream = await open(`${path}&${query}`, { caller: ADMIN, headers })
      expect(await textsOf(stream, rest.length), query).toEqual(rest)
      await stream.close()
      if (rest.length === 1) continue
      // Its ids are those of the same list, whose query has no place.
      const onward = await open(path, {
        caller: ADMIN,
        headers: { 'last-event-id': idOf(stream.events, 0) },
      })
      expect(await textsOf(onward, rest.length - 1), query).toEqual(rest.slice(1))
      await onward.close()
    }
    const { _id: next } = await write('POST /notes', { text: 'later' })
    expect((await header.until(4)).at(-1)?.data).toMatchObject({ _id: next })
  })

  test('a stream whose query is as long as one may be goes on by lastEventId', async () => {
    const query = 'q[text][$ne]="x"'
    const limits = { queryBytes: encodePath(query).length }
    const { open, write, send } = await serve({ adapter: create(), config: { ...config, limits } })
    const stream = await open(`/notes/changes?${query}`, { caller: ADMIN })
    await write('POST /notes', { text: 'a' })
    const id = idOf(stream.events, 0)
    const again = await open(`/notes/changes?${query}&lastEventId=${id}`, { caller: ADMIN })
    expect(told(await again.until(1)).map(([name]) => name)).toEqual(['enter'])
    for (const more of ['&lastEventId=%41', `&lastEventId=${'a'.repeat(1025)}`, `&after=${id}`, 'x']) {
      const { status } = await send(`GET /notes/changes?${query}${more}`, { caller: ADMIN })
      expect([status, more]).toEqual([414, more])
    }
  })

  test('of a long time away everything is told, as fast as it is taken', async () => {
    const { open, write, send } = await serve({ adapter: create() })
    const stream = await open('/notes/changes', { caller: ADMIN })
    await stream.close()
    const text = 'x'.repeat(20_000)
    for (let i = 0; i < 3; i++) {
      const documents = Array.from({ length: 30 }, () => ({ text }))
      const { status } = await send('POST /notes/bulk', { caller: ADMIN, body: { documents } })
      expect(status).toBe(201)
    }
    const again = await open('/notes/changes', {
      caller: ADMIN,
      headers: { 'last-event-id': idOf(stream.events, 0) },
    })
    expect(namesOf(await again.until(90))).toEqual(Array.from({ length: 90 }, () => 'enter'))
    await write('POST /notes', { text: 'last' })
    expect((await again.until(91)).at(-1)?.data.text).toBe('last')
  })

  test.each([
    ['ends', 'end'],
    ['changes', 'reset'],
  ])('what was missed and not yet taken is not told once the standing %s', async (_, last) => {
    const { open, ask, write, send, register } = await serve({ adapter: create() })
    const { token, id } = await register({ name: 'ann', pin: 'secret' })
    await write(`PATCH /users/${id}`, { role: 'editor' })
    const stream = await open('/notes/changes', { token })
    await stream.close()
    const text = 'x'.repeat(20_000)
    const documents = Array.from({ length: 40 }, () => ({ text }))
    for (let i = 0; i < 2; i++) {
      const { status } = await send('POST /notes/bulk', { caller: ADMIN, body: { documents } })
      expect(status).toBe(201)
    }
    const headers = { 'last-event-id': idOf(stream.events, 0) }
    const reader = (
      (await ask('/notes/changes', { token, headers })).body as ReadableStream<Uint8Array>
    ).getReader()
    const decoder = new TextDecoder()
    let told = decoder.decode((await reader.read()).value)
    if (last === 'end') await send('POST /auth/logout-all', { token })
    else await write(`PATCH /users/${id}`, { role: null })
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 1001)
    onTestFinished(() => void vi.restoreAllMocks())
    while (!told.includes(`event: ${last}`)) told += decoder.decode((await reader.read()).value)
    const entered = told.split('event: enter').length - 1
    expect(entered).toBeGreaterThan(0)
    expect(entered).toBeLessThan(20)
    await reader.cancel()
  })

  test('a standing that changed meanwhile, even briefly, begins anew', async () => {
    const { open, write, register } = await serve({ adapter: create() })
    const { token, id } = await register({ name: 'ann', pin: 'secret' })
    const stream = await open('/notes/changes', { token })
    await stream.close()
    const headers = { 'last-event-id': idOf(stream.events, 0) }
    await write('POST /notes', { text: 'a', status: 'open' })
    await write(`PATCH /users/${id}`, { note: 'x' })
    expect(namesOf((await open('/notes/changes', { token, headers })).events)).toEqual(['enter'])
    await write(`PATCH /users/${id}`, { role: 'editor' })
    await write(`PATCH /users/${id}`, { role: null })
    expect(namesOf((await open('/notes/changes', { token, headers })).events)).toEqual(['reset'])
  })
})

interface Other {
  readonly caller?: Caller | null
  readonly change?: (id: string) => string
  /** Another service over the same storage. */
  readonly other?: Omit<Parameters<typeof serve>[0], 'adapter'>
}

/** An id of a stream of the admin, and what it leads to where something else is asked for. */
async function firstOf(path: string, asked: Other = {}): Promise<readonly string[]> {
  const adapter = createMemoryAdapter()
  const service = await serve({ adapter })
  const stream = await service.open('/notes/changes?q[text]="a"', { caller: ADMIN })
  await service.write('POST /notes', { text: 'a' })
  const id = idOf(await stream.until(2), 0)
  await stream.close()
  const { open } = asked.other ? await serve({ ...asked.other, adapter }) : service
  const brought = asked.change?.(id) ?? id
  const caller = asked.caller === undefined ? ADMIN : asked.caller
  const again = await open(path, { caller, headers: { 'last-event-id': brought } })
  for (const name of ['lastEventId', 'after']) {
    const more = `${path.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(brought)}`
    const byParameter = await open(path + more, { caller })
    expect(namesOf(byParameter.events)).toEqual(namesOf(again.events))
  }
  return namesOf(again.events)
}

const SAME = '/notes/changes?q[text]="a"'
const hours = (count: number): { readonly options: object } => ({
  options: { now: () => Date.now() + count * 3_600_000 },
})

describe('what does not agree begins anew', () => {
  test.each<readonly [what: string, path: string, asked: Other]>([
    ['the same', SAME, {}],
    ['within the hours', SAME, { other: hours(23) }],
  ])('%s goes on', async (_, path, asked) => {
    expect(await firstOf(path, asked)).toEqual(['enter'])
  })

  test.each<readonly [what: string, path: string, asked: Other]>([
    ['an unknown id', SAME, { change: () => 'unknown' }],
    ['one of the right length', SAME, { change: (id) => 'A'.repeat(id.length) }],
    [
      'a changed one',
      SAME,
      { change: (id) => `${id.slice(0, 99)}${id[99] === 'A' ? 'B' : 'A'}${id.slice(100)}` },
    ],
    ['a shortened one', SAME, { change: (id) => id.slice(0, -1) }],
    ['the end of one changed', SAME, { change: (id) => `${id.slice(0, -1)}${id.endsWith('w') ? 'x' : 'w'}` }],
    ['another query', '/notes/changes?q[text]="b"', {}],
    ['another projection', `${SAME}&project=["text"]`, {}],
    ['no query', '/notes/changes', {}],
    ['another role', SAME, { caller: { id: 'admin', roles: ['editor'] } }],
    ['another caller, where owner counts', SAME, { caller: { id: 'other', roles: ['admin'] } }],
    ['nobody', SAME, { caller: null }],
    ['after so many hours', SAME, { other: hours(25) }],
    ['another configuration', SAME, { other: { config: { ...config, limits: { maxLimit: 99 } } } }],
  ])('%s', async (_, path, asked) => {
    expect(await firstOf(path, asked)).toEqual(['reset'])
  })

  test('the id of another collection', async () => {
    const { notes } = config.collections
    const both = { ...config, collections: { ...config.collections, others: notes } }
    const { open, write } = await serve({ adapter: createMemoryAdapter(), config: both })
    const stream = await open('/others/changes', { caller: ADMIN })
    await write('POST /notes', { text: 'a' })
    const headers = { 'last-event-id': idOf(stream.events, 0) }
    expect(namesOf((await open('/notes/changes', { caller: ADMIN, headers })).events)).toEqual(['reset'])
  })

  test('a log that is another one, for those who listen too', async () => {
    const inner = createMemoryAdapter()
    let hasGap = false
    const adapter: StorageAdapter = {
      ...inner,
      async changes(after, query) {
        const page = await inner.changes?.(after, query)
        if (!page) throw new Error('there is a log')
        return { ...page, gap: hasGap && page.changes.length > 0 }
      },
    }
    const { open, write } = await serve({ adapter })
    const stream = await open('/notes/changes', { caller: ADMIN })
    hasGap = true
    await write('POST /notes', { text: 'a' })
    expect(namesOf(await stream.until(2))).toEqual(['reset', 'reset'])
  })
})
