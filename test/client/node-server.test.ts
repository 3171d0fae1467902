import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Client, createClient } from '../../src/client/client.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { caught, type config, createService } from './support/service.js'

let server: Server
let client: Client<typeof config>
const handler = createService({ basePath: '/api' })

beforeAll(async () => {
  server = createServer(toNodeHandler(handler))
  await new Promise<void>((resolve) => server.listen(0, resolve))
  client = createClient(`http://localhost:${(server.address() as AddressInfo).port}/api/`)
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await handler.close()
})

test('everything arrives over a socket as it does in a process', async () => {
  const notes = client.collection('notes')
  const { user } = await client.auth.register({ email: 'ann@a.b', password: 'secret' })
  expect(await client.auth.me()).toEqual(user)
  const title = 'a&b=c+d%20 [e] "ä𝄞" \\ #?'
  const created = await notes.create({ title, author: user._id })
  await notes.createMany([{ title: 'two' }, { title: 'three' }])
  expect(await notes.list({ q: { title } })).toEqual([created])
  expect(await notes.list({ q: { title: { $regex: '\\[e\\] "Ä', $options: 'i' } } })).toEqual([created])
  expect((await notes.get(created, { expand: ['author'] })).author).toEqual(user)
  const pages: string[][] = []
  for await (const page of notes.pages({ sort: { title: 1 }, limit: 2 })) {
    pages.push(page.map((note) => note.title))
  }
  expect(pages).toEqual([[title, 'three'], ['two']])
  const changed = await notes.update(created, { views: 1 })
  expect(await caught(notes.delete(created))).toMatchObject({ code: 'precondition_failed' })
  await notes.delete(changed)
  expect(await notes.count()).toBe(2)
  await client.auth.logout()
  expect(await caught(client.auth.me())).toMatchObject({ status: 401 })
})

test('a request that is given up ends', async () => {
  const controller = new AbortController()
  const listed = caught(client.collection('notes').list({ signal: controller.signal }))
  controller.abort()
  expect(await listed).toMatchObject({ name: 'AbortError' })
})

test('a server that is not there is no error of the service', async () => {
  const thrown = await caught(createClient('http://localhost:1').collection('notes').list())
  expect(thrown).toBeInstanceOf(TypeError)
})
