import type { AnyConfig, Sent } from '../../support/service.js'

/** What the tests of HTTP have in common. */

export const collections = {
  users: {
    schema: { email: { type: 'string', unique: true }, password: { type: 'hash' }, role: { type: 'string' } },
    permissions: { '*': { create: true }, owner: { read: true }, admin: true },
  },
  items: {
    schema: { title: { type: 'string' }, code: { type: 'string', unique: true } },
    permissions: { '*': { read: true }, user: { create: true }, guest: { create: false } },
  },
  open: { schema: { title: { type: 'string' } }, permissions: { '*': { pick: ['title'] } } },
  'with-dash_1': { schema: {}, permissions: { '*': { read: true } } },
}

export const config: AnyConfig = { collections, auth: { roleField: 'role' } }
export const ID = '0189abcd-0000-7000-8000-000000000001'
export const ann = { email: 'ann', password: 'secret' }

export const documents = {
  items: [{ _id: ID, title: 'one', code: 'a' }],
  users: [{ email: 'gus', password: 'secret', role: 'guest' }],
}

export const codeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body.code])
