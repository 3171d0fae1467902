/** Serves the world in one way, over Hono, and tells its parent what time of the processor it has taken. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createWorld } from './world.mjs'

const [way, size] = process.argv.slice(2)
const file = way.startsWith('hand') ? `./${way}.mjs` : './ours.mjs'
const { create } = await import(file)
const { handle, tokens, ids } = await create(way, createWorld(Number(size)))
const app = way.startsWith('hand') ? { fetch: handle } : new Hono().all('/*', (c) => handle(c.req.raw))

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send({ port, tokens, ids }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ microseconds: user + system })
})
process.on('disconnect', () => process.exit())
