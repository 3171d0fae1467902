import { expect, test } from 'vitest'
import type { Connection } from '../../../../src/adapters/sqlite/connection/connection.js'
import { States } from '../../../../src/adapters/sqlite/write/states.js'
import { nothing } from '../../../../src/core/filter/filter.js'

/** A connection that reads the number of commits of others. */
const connectionOf = (read: () => unknown): Connection => ({ first: read }) as unknown as Connection

const stepIn = (name: string) => ({ in: name, remove: nothing })

test('the state of collections changes with each of their writes, with each of others, and with a failure', () => {
  let commits = 1
  const states = new States(connectionOf(() => commits))
  const find = () => states.find(['a', 'b'])
  const seen = [find()]
  const did = (): void => {
    expect(seen).not.toContain(find())
    seen.push(find())
  }
  expect(find()).toBe(seen[0])
  states.tookEffect([stepIn('c')])
  expect(find()).toBe(seen[0])
  states.tookEffect([stepIn('c'), stepIn('b')])
  did()
  states.tookEffect([stepIn('a')])
  did()
  commits += 1
  did()
  states.failed()
  did()
})

test('two files have different states, though nothing was written to either', () => {
  const [one, other] = [new States(connectionOf(() => 1)), new States(connectionOf(() => 1))]
  expect(one.find([])).not.toBe(other.find([]))
})

test('a file that cannot be read has no state', () => {
  const broken = connectionOf(() => {
    throw new Error('disk I/O error')
  })
  expect(new States(broken).find(['a'])).toBeUndefined()
})
