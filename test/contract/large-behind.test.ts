import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type StorageAdapter, type StoredDocument } from '../../src/index.js'
import { KIB, useSmallerBounds } from '../support/bounds.js'
import { createCuttingAdapter } from '../support/cutting-adapter.js'
import { closeAfterEach } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §6, "Scheduling": documents that a request reads and does not show

const opened = closeAfterEach()
useSmallerBounds()

const COUNT = 60
const LARGE = 'x'.repeat(250 * KIB)
const text = { type: 'string' } as const
const all = { '*': { read: true, create: true, update: true, delete: true } } as const

const config = {
  collections: {
    teams: { schema: { name: text }, permissions: all },
    members: {
      schema: {
        team: { type: 'reference', collection: 'teams', onDelete: 'cascade' },
        user: { type: 'string', index: true },
        crew: text,
        about: text,
      },
      permissions: all,
    },
    plans: {
      schema: { crew: text },
      permissions: { user: { read: { where: { crew: { $in: '$user.crews' } } }, delete: true } },
    },
  },
  limits: { requestSeconds: 600 },
  auth: {
    claims: {
      crews: { from: 'members', where: { user: '$user._id' }, take: 'crew' },
    },
  },
} as const

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** A storage that gives copies: how many of them are still held, and the ids that it gave in their place. */
function watchCopies() {
  const inner = createCuttingAdapter(createMemoryAdapter())
  const copies: WeakRef<StoredDocument>[] = []
  const seen = { held: 0, ids: 0 }
  let asked = 0
  /** Looks now and then: what a turn of the loop has given out stays until it is over, and collecting takes long. */
  const look = async (): Promise<void> => {
    if (asked++ % 8 !== 0) return
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    seen.held = Math.max(seen.held, copies.filter((copy) => copy.deref()).length)
  }
  const adapter: StorageAdapter = {
    ...inner,
    async list(collection, query) {
      await look()
      const listed = await inner.list(collection, query)
      const copied = listed.map((document) => structuredClone(document))
      copies.push(...copied.map((copy) => new WeakRef(copy)))
      seen.ids += listed.rest?.length ?? 0
      return Object.assign(copied, listed.rest ? { rest: listed.rest } : {})
    },
    async write(steps, options) {
      asked = 0
      await look()
      return inner.write(steps, options)
    },
  }
  return { adapter, seen, copies }
}

async function open() {
  const { adapter, seen, copies } = watchCopies()
  const members = Array.from({ length: COUNT }, (_, i) => ({
    team: idOf(1),
    user: 'ann',
    crew: `${i}`,
    about: LARGE,
  }))
  const stored = { teams: [{ name: 'Red' }], plans: [{ crew: '59' }], members }
  const service = await openStored(config, stored, { adapter, authenticate: () => ({ id: 'ann' }) })
  opened.push(service)
  copies.length = 0
  seen.ids = 0
  return { ...service, seen }
}

const remove = (path: string) => ({ method: 'DELETE', path })
const batch = (...operations: object[]) => ['POST /_batch', { body: { operations } }] as const

describe('of many large documents that a request reads, and does not show,', () => {
  test.each<readonly [what: string, line: string, options: object, ids: number]>([
    ['go with another', `DELETE /teams/${idOf(1)}`, {}, 0],
    ['go with another in a batch', ...batch(remove(`/teams/${idOf(1)}`)), 0],
    ['make a caller what it is', `DELETE /plans/${idOf(1)}`, {}, COUNT],
    ['make a caller what it is in a batch', ...batch(remove(`/plans/${idOf(1)}`)), COUNT],
  ])('few are held, and each is asked for once or twice, where they %s', async (_, line, options, left) => {
    const { send, seen } = await open()
    expect((await send(line, options)).status).toBeLessThan(300)
    expect((await send('GET /members/count')).body.total).toBe(left)
    expect(seen.held).toBeLessThan(COUNT / 4)
    expect(seen.ids).toBeLessThan(3 * COUNT)
  })
})
