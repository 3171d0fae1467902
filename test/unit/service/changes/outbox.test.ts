import { expect, test } from 'vitest'
import { Outbox } from '../../../../src/service/changes/outbox.js'
import { createPlaces } from '../../../../src/service/changes/places.js'

const bytes = (length: number) => new Uint8Array(length)
const MiB = 1024 * 1024

function open() {
  let over = 0
  const outbox = new Outbox(() => {
    over += 1
  })
  const texts = outbox[Symbol.asyncIterator]()
  const take = async (): Promise<number | undefined> => (await texts.next()).value?.length
  return { outbox, take, over: () => over }
}

test('what is sent is taken in order, and an end comes behind it', async () => {
  const { outbox, take, over } = open()
  const first = take()
  outbox.send(bytes(1))
  outbox.send(bytes(2))
  outbox.end()
  outbox.send(bytes(3))
  expect([await first, await take(), await take(), over()]).toEqual([1, 2, undefined, 1])
})

test('an event that comes while more than a mebibyte waits cuts the stream', async () => {
  const { outbox, take, over } = open()
  outbox.send(bytes(3 * MiB))
  expect(over()).toBe(0)
  outbox.send(bytes(1))
  expect([over(), await take()]).toEqual([1, undefined])
  const other = open()
  other.outbox.send(bytes(MiB))
  other.outbox.send(bytes(1))
  expect([other.over(), await other.take(), await other.take()]).toEqual([0, MiB, 1])
})

test('a comment is left out where something waits', async () => {
  const { outbox, take } = open()
  outbox.sendComment()
  expect(await take()).toBe(3)
  outbox.send(bytes(10))
  outbox.sendComment()
  outbox.end()
  expect([await take(), await take()]).toEqual([10, undefined])
})

test('draining waits until little is left, or the stream is over', async () => {
  const { outbox, take } = open()
  await outbox.drain()
  outbox.send(bytes(100_000))
  let isDrained = false
  const draining = outbox.drain().then(() => {
    isDrained = true
  })
  await Promise.resolve()
  expect(isDrained).toBe(false)
  await take()
  await draining
  outbox.send(bytes(100_000))
  const ending = outbox.drain()
  outbox.cancel()
  await ending
})

test('places come back once, and a holder has a tenth', () => {
  const places = createPlaces(20)
  const backs = [places.take(['a', 'x']), places.take(['b', 'x'])]
  expect(() => places.take(['c', 'x'])).toThrow()
  backs.push(places.take(['a']))
  expect(() => places.take(['a'])).toThrow()
  for (const back of [...backs, ...backs]) back()
  expect(places.taken).toBe(0)
  for (let i = 0; i < 20; i++) places.take([])
  expect(() => places.take([])).toThrow()
})
