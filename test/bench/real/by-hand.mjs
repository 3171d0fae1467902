/**
 * What the servers by hand share: one application, its routes and checks, over Hono. `create` gets the statements of a
 * database: `find(kind, values)` gives rows, or a promise of them.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import Ajv from 'ajv'
import formats from 'ajv-formats'
import { Hono } from 'hono'
import { STATES } from './world.mjs'

export const hash = (token) => createHash('sha256').update(token).digest('hex')
export const createTokens = (people) => people.map(() => randomBytes(32).toString('base64url'))

/** What is shown of a task: all but its budget. */
export const SHOWN =
  'id, team, title, status, priority, due, assignee, notes, created_at, updated_at, created_by'

const ajv = formats(new Ajv())
const uuid = { type: 'string', format: 'uuid' }
const status = { enum: STATES }
const priority = { type: 'integer', minimum: 0, maximum: 4 }
const isPatch = ajv.compile({ type: 'object', properties: { status, priority }, additionalProperties: false })
const isTask = ajv.compile({
  type: 'object',
  required: ['team', 'title'],
  properties: {
    team: uuid,
    title: { type: 'string', maxLength: 200 },
    status,
    priority,
    due: { type: 'string', format: 'date-time' },
    assignee: uuid,
    notes: { type: 'string' },
  },
  additionalProperties: false,
})

/** Method, path and body of a request. */
export function write({ kind, team, status, from, to, text, id, body }) {
  switch (kind) {
    case 'team':
      return ['GET', `/tasks?team=${team}&status=${status}`]
    case 'mine':
      return ['GET', `/tasks/mine?from=${from}`]
    case 'newest':
      return ['GET', '/tasks/newest']
    case 'search':
      return ['GET', `/tasks/search?team=${team}&text=${encodeURIComponent(text)}`]
    case 'count':
      return ['GET', `/tasks/count?team=${team}&from=${from}&to=${to}`]
    case 'read':
      return ['GET', `/tasks/${id}`]
    case 'patch':
      return ['PATCH', `/tasks/${id}`, body]
    default:
      return ['POST', '/tasks', body]
  }
}

/** The application over a database. */
export function createApp({ findUser, find }) {
  const app = new Hono()
  app.use(async (c, next) => {
    const [, token] = /^Bearer (.+)$/.exec(c.req.header('authorization') ?? '') ?? []
    const me = token && (await findUser(hash(token)))
    if (!me) return c.json({}, 401)
    c.set('me', me)
    return next()
  })
  const list = (kind) => async (c) => c.json(await find(kind, { ...c.req.query(), me: c.get('me') }))
  const one = async (c, kind, values, status, missing) => {
    const [row] = await find(kind, { ...values, me: c.get('me') })
    return row ? c.json(row, status) : c.json({}, missing)
  }
  app.get('/tasks', list('team'))
  app.get('/tasks/mine', list('mine'))
  app.get('/tasks/newest', list('newest'))
  app.get('/tasks/search', list('search'))
  app.get('/tasks/count', async (c) => one(c, 'count', c.req.query(), 200, 404))
  app.get('/tasks/:id', (c) => one(c, 'read', { id: c.req.param('id') }, 200, 404))
  app.patch('/tasks/:id', async (c) => {
    const body = await c.req.json()
    if (!isPatch(body)) return c.json(isPatch.errors, 400)
    const now = new Date().toISOString()
    return one(c, 'patch', { status: null, priority: null, ...body, now, id: c.req.param('id') }, 200, 404)
  })
  app.post('/tasks', async (c) => {
    const body = await c.req.json()
    if (!isTask(body)) return c.json(isTask.errors, 400)
    const now = new Date().toISOString()
    const missing = { status: 'open', priority: null, due: null, assignee: null, notes: null }
    return one(c, 'create', { ...missing, ...body, now, id: randomUUID() }, 201, 403)
  })
  return app
}
