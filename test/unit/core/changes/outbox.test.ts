import { expect, test } from 'vitest'
import { createPlaces } from '../../../../src/core/changes/streams.js'
import { createPatience, Outbox } from '../../../../src/core/changes/subscriber.js'

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

test('events that come at once wait for room, until patience is at an end', async () => {
  const texts = Array.from({ length: 8 }, () => bytes(MiB / 2))
  const reader = open()
  const sending = reader.outbox.sendAll(texts, () => new Promise(() => {}))
  for (const { length } of texts) expect(await reader.take()).toBe(length)
  await sending
  expect(reader.over()).toBe(0)
  const sleeper = open()
  await sleeper.outbox.sendAll(texts, createPatience())
  expect([sleeper.over(), await sleeper.take()]).toEqual([1, undefined])
})

test('who has used up all patience is not waited for again before little is left', async () => {
  const { outbox, take, over } = open()
  outbox.send(bytes(MiB / 2))
  outbox.send(bytes(MiB))
  const atOnce = async (): Promise<void> => {}
  await outbox.makeRoom(atOnce)
  await take()
  outbox.send(bytes(MiB / 2))
  let asked = 0
  const asking = async (): Promise<void> => {
    asked += 1
  }
  await outbox.sendAll([bytes(1)], asking)
  expect([asked, over()]).toEqual([0, 1])
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
