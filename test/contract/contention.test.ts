import { describe, expect, test } from 'vitest'
import { createTestService, type Sent } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { until } from '../support/until.js'

// CONTRACT.md §2, "Concurrency": who writes one document at once, through one process

const MANY = 40

const storages = useStorages()
const opened = closeAfterEach()

const numbers = Array.from({ length: MANY }, (_, i) => i)
const properties = Object.fromEntries(numbers.map((i) => [`p${i}`, { type: 'integer' as const }]))
const collections = {
  counters: { schema: { n: { type: 'integer' }, ...properties }, permissions: { '*': true } },
} as const

const statusesOf = (answers: readonly Sent[]): readonly number[] => [
  ...new Set(answers.map(({ status }) => status)),
]

describe.each(storages)('in %s, all who change one document at once take effect', (_, create) => {
  const open = async (): Promise<{ send: ReturnType<typeof createTestService>['send']; path: string }> => {
    const service = createTestService({ collections }, { adapter: create() })
    opened.push(service)
    const { body } = await service.send('POST /counters', { body: { n: 0 } })
    return { send: service.send, path: `/counters/${body._id}` }
  }
  const all = Object.fromEntries(numbers.map((i) => [`p${i}`, i]))

  test('with one field each', async () => {
    const { send, path } = await open()
    const answers = await Promise.all(numbers.map((i) => send(`PATCH ${path}`, { body: { [`p${i}`]: i } })))
    expect(statusesOf(answers)).toEqual([200])
    expect((await send(`GET ${path}`)).body).toMatchObject(all)
  })

  test('in batches, which change another one as well', async () => {
    const { send, path } = await open()
    const other = `/counters/${(await send('POST /counters', { body: { n: 0 } })).body._id}`
    const change = (to: string, i: number) => ({ method: 'PATCH', path: to, body: { [`p${i}`]: i } })
    const answers = await Promise.all(
      numbers.map((i) => {
        const operations = [change(path, i), change(other, i)]
        return send('POST /_batch', { body: { operations: i % 2 ? operations : operations.reverse() } })
      }),
    )
    expect(statusesOf(answers)).toEqual([200])
    for (const one of [path, other]) expect((await send(`GET ${one}`)).body).toMatchObject(all)
  })

  test('though somebody deletes it meanwhile: as one after another', async () => {
    const { send, path } = await open()
    const answers = await Promise.all(
      numbers.map((i) =>
        send(i === MANY / 2 ? `DELETE ${path}` : `PATCH ${path}`, {
          body: i === MANY / 2 ? undefined : { n: i },
        }),
      ),
    )
    expect(answers[MANY / 2]?.status).toBe(204)
    for (const { status } of answers) expect([200, 204, 404]).toContain(status)
  })
})

test('a hook that takes its time over one write does not hold up the others', async () => {
  let release = (): void => {}
  const waiting = new Promise<void>((resolve) => {
    release = resolve
  })
  let asked = 0
  const service = createTestService(
    { collections },
    {
      hooks: {
        counters: {
          async before({ before, after }) {
            const [was, is] = [before, after] as ({ n?: unknown } | null)[]
            if (is?.n !== -1 || was?.n === -1) return
            asked += 1
            // The first attempt is lost to another one; the next one, which has the turn, takes its time.
            if (asked === 1) await send(`PATCH ${path}`, { body: { n: 1 } })
            else await waiting
          },
        },
      },
    },
  )
  opened.push(service)
  const { send } = service
  const path = `/counters/${(await send('POST /counters', { body: { n: 0 } })).body._id}`
  const slow = send(`PATCH ${path}`, { body: { n: -1 } })
  await until(() => asked === 2)
  const answers = await Promise.all(numbers.map((i) => send(`PATCH ${path}`, { body: { [`p${i}`]: i } })))
  expect(statusesOf(answers)).toEqual([200])
  release()
  expect((await slow).status).toBe(200)
})
