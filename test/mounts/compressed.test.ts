import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { getRequestListener } from '@hono/node-server'
import compression from 'compression'
import express from 'express'
import { Hono } from 'hono'
import { compress as honoCompress } from 'hono/compress'
import Koa from 'koa'
import koaCompress from 'koa-compress'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { defineConfig, type Handler } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { createTestService } from '../support/service.js'
import { idOf } from '../support/stored.js'
import { useListen } from './support/node.js'

// CONTRACT.md §2, "Preconditions"; §6, "Headers"; §7, "The Node mount"; §9, "Events": middleware that compresses lies
// between the service and a client, and nothing but the coding of answers differs.

const config = defineConfig({
  collections: {
    notes: {
      changes: true,
      schema: { title: { type: 'string' }, text: { type: 'string' } },
      permissions: { '*': { create: true, read: true, update: true, delete: true } },
    },
  },
})

const listen = useListen()

/** Koa, whose middleware compresses bodies that it is given. */
function koa(handler: Handler): RequestListener {
  const app = new Koa()
  // It logs clients that go.
  app.silent = true
  app.use(koaCompress())
  app.use(async (context) => {
    const { method, req } = context
    const body = ['GET', 'HEAD'].includes(method) ? null : await text(req)
    const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const answer = await handler(new Request(context.href, { method, headers, body }))
    context.status = answer.status
    context.set(Object.fromEntries(answer.headers))
    context.body = answer.body && Readable.fromWeb(answer.body as WebStream)
  })
  const serve = app.callback()
  return (request, response) => void serve(request, response)
}

/** Hono, whose middleware makes the tags of what it compresses weak. */
function hono(handler: Handler): RequestListener {
  const app = new Hono()
  app.use(honoCompress())
  app.all('*', (context) => handler(context.req.raw))
  return getRequestListener(app.fetch)
}

const MOUNTS: readonly (readonly [by: string, mount: (handler: Handler) => RequestListener])[] = [
  ['compression of Express', (handler) => express().use(compression()).use(toNodeHandler(handler))],
  ['koa-compress', koa],
  ['hono/compress', hono],
]

/** Over the 1 kB from which these compress. */
const LONG = 'a text that is long enough '.repeat(60)

/** A client that takes gzip, and the codings of the answers that it got, by their media type. */
async function setUp(mount: (handler: Handler) => RequestListener, count = 0) {
  const documents = Array.from({ length: count }, (_, i) => ({ _id: idOf(i + 1), title: `${i}`, text: LONG }))
  const { handler } = createTestService(config, { documents: { notes: documents } })
  const port = await listen(mount(handler))
  const answers: Headers[] = []
  const client = createClient<typeof config>(`http://127.0.0.1:${port}`, {
    headers: { 'accept-encoding': 'gzip' },
    async fetch(input, init) {
      const answer = await fetch(input, init)
      answers.push(answer.headers)
      return answer
    },
  })
  const codingsOf = (type: string) =>
    answers
      .filter((headers) => headers.get('content-type') === type)
      .map((headers) => headers.get('content-encoding'))
  return { client, notes: client.collection('notes'), codingsOf }
}

const JSON_TYPE = 'application/json'
const FAILED = { status: 412, code: 'precondition_failed' }

describe.each(MOUNTS)('through %s', (_, mount) => {
  test('a document that was read is written while nobody else has written it', async () => {
    const { notes, codingsOf } = await setUp(mount)
    const created = await notes.create({ title: 'One', text: LONG })
    const updated = await notes.update(await notes.get(created), { title: 'Two' })
    await expect(notes.update(created, { title: 'Three' })).rejects.toMatchObject(FAILED)
    const replaced = await notes.replace(updated, { title: 'Four', text: LONG })
    await expect(notes.delete(updated)).rejects.toMatchObject(FAILED)
    expect(await notes.get(replaced)).toEqual(replaced)
    await notes.delete(replaced)
    expect(await notes.count()).toBe(0)
    // The last of them is the count, which is short.
    expect(codingsOf(JSON_TYPE).slice(0, -1)).toEqual(Array(5).fill('gzip'))
  })

  test('a batch takes effect while what it read is unchanged', async () => {
    const { client, notes, codingsOf } = await setUp(mount)
    const [first] = await client.batch((b) => [b.notes.create({ title: 'One', text: LONG })])
    const read = await notes.get(first)
    const unchanged = (title: string) =>
      client.batch((b) => [b.notes.get(read, { ifUnchanged: true }), b.notes.create({ title, text: LONG })])
    const [, second] = await unchanged('Two')
    expect(codingsOf(JSON_TYPE)).toEqual(Array(3).fill('gzip'))
    await client.batch((b) => [b.notes.update(read, { title: 'Three' }), b.notes.delete(second)])
    await expect(unchanged('Four')).rejects.toMatchObject({ ...FAILED, operation: 0 })
    expect(await notes.count()).toBe(1)
  })

  test('lists come whole: of many ids, and as long as they are', async () => {
    const { notes, codingsOf } = await setUp(mount, 3000)
    const ids = Array.from({ length: 95 }, (_, i) => idOf(i + 1))
    const asked = { q: { _id: { $in: ids } } }
    const found: unknown[] = []
    for await (const page of notes.pages({ ...asked, limit: 40 })) found.push(...page)
    expect(found).toEqual(await notes.list(asked))
    expect(found).toHaveLength(95)
    expect(await notes.list()).toHaveLength(3000)
    expect(new Set(codingsOf(JSON_TYPE))).toEqual(new Set(['gzip']))
  })

  test('events come as they are made, and a live list from its first state on', async () => {
    const { notes, codingsOf } = await setUp(mount, 1)
    const leaving = new AbortController()
    const { signal } = leaving
    const events = notes.changes({ signal })[Symbol.asyncIterator]()
    expect((await events.next()).value).toEqual({ event: 'reset' })
    const lists = notes.live({ signal })[Symbol.asyncIterator]()
    const titles = async () => (await lists.next()).value?.map(({ title }: { title?: string }) => title)
    expect(await titles()).toEqual(['0'])
    await notes.create({ title: '1', text: LONG })
    expect(await titles()).toEqual(['0', '1'])
    expect((await events.next()).value).toMatchObject({ event: 'enter', document: { title: '1' } })
    leaving.abort()
    expect(codingsOf('text/event-stream')).toEqual([null, null])
    expect(new Set(codingsOf(JSON_TYPE))).toEqual(new Set(['gzip']))
  })
})
