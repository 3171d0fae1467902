import { describe, expect, test } from 'vitest'
import { rounds } from '../support/tier.js'
import { config, openService, readStore } from './support/service.js'
import { engines } from './support/stores.js'
import { runTogether, useWorkers } from './support/workers.js'

// CONTRACT.md §7, "Storage"

/** Several processes over one store. */

const workers = useWorkers(4)

type Tally = { readonly [answer: string]: number }

const sum = (tallies: readonly Tally[], answer: string): number =>
  tallies.reduce((total, tally) => total + (tally[answer] ?? 0), 0)

const answersOf = (tallies: readonly Tally[]): readonly string[] =>
  [...new Set(tallies.flatMap((tally) => Object.keys(tally)))].sort()

describe.each(engines)('%s', (_, useStores) => {
  const stores = useStores()

  test('four processes open an empty store at once', { timeout: 60_000 }, async () => {
    for (let round = 0; round < rounds(8, 25); round++) {
      const store = stores.create()
      const outcomes = await runTogether<string>(workers, 'open', () => ({ config, store }))
      expect(outcomes).toEqual(['open', 'open', 'open', 'open'])
      expect(await readStore(store, 'things')).toEqual([])
    }
  })

  test('a process with more indexes opens a store in which others keep writing', {
    timeout: 60_000,
  }, async () => {
    const store = stores.create()
    const [writer, opener] = workers
    if (!writer || !opener) throw new Error('too few processes')
    writer.begin('create', { config, store, loops: 8, round: 0, name: 'a' })
    await writer.printed(/^serving$/)
    const { things, users } = config.collections
    for (let more = 0; more < 10; more++) {
      const schema = { ...things.schema, [`more${more}`]: { type: 'string', index: true } }
      const changed = { ...config, collections: { users, things: { ...things, schema } } }
      expect(await opener.run('open', { config: changed, store })).toBe('open')
    }
    writer.stop()
    // Nor is who writes told anything of it.
    expect(Object.keys(await writer.finish<Tally>())).toEqual(['201'])
  })

  test('of 120 registrations of one identifier in four processes one succeeds', {
    timeout: 60_000,
  }, async () => {
    const store = stores.create()
    const credentials = { email: 'ann@example.com', password: 'correct horse' }
    const options = { config, store, times: 30, credentials }
    const tallies = await runTogether<Tally>(workers, 'register', () => options)
    expect(answersOf(tallies)).toEqual(['201', '409 unique_violation'])
    expect([sum(tallies, '201'), sum(tallies, '409 unique_violation')]).toEqual([1, 119])
    const users = await readStore(store, 'users')
    expect(users).toMatchObject([{ email: 'ann@example.com' }])
    // Nothing is left behind of those that were refused.
    expect(await readStore(store, '_sessions')).toMatchObject([{ user: users[0]?._id }])
  })

  test('no increment of four processes is lost', { timeout: 240_000 }, async () => {
    const times = rounds(100, 500)
    const store = stores.create()
    const service = openService(store)
    const { body } = await service.send('POST /things', { n: 0 })
    const path = `/things/${body._id}`
    const tallies = await runTogether<Tally>(workers, 'increment', () => ({ config, store, path, times }))
    expect(tallies.map((tally) => tally['200'])).toEqual([times, times, times, times])
    // Each success on the state that was read: who came second was told.
    expect(answersOf(tallies)).toEqual(['200', '412 precondition_failed'])
    expect((await service.send(`GET ${path}`)).body.n).toBe(4 * times)
    await service.handler.close()
  })

  test('processes that write at the same time are never told that the store is busy', {
    timeout: 60_000,
  }, async () => {
    const store = stores.create()
    const writers = workers.slice(0, 2)
    for (const [i, writer] of writers.entries())
      writer.begin('create', { config, store, loops: 8, round: 0, name: `${i}` })
    // Neither keeps the other waiting: both go on until each has written much.
    for (let i = 0; i < rounds(400, 2000); i++)
      await Promise.all(writers.map((writer) => writer.printed(/^acknowledged /)))
    for (const writer of writers) writer.stop()
    const tallies = await Promise.all(writers.map((writer) => writer.finish<Tally>()))
    expect(answersOf(tallies)).toEqual(['201'])
    const stored = new Set((await readStore(store, 'things')).map(({ _id }) => _id))
    expect(stored.size).toBe(sum(tallies, '201'))
  })
})
