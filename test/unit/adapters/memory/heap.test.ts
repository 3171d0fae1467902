import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { SortedList } from '../../../../src/adapters/memory/sorted-list.js'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

type Element = readonly [key: number, id: string]

const COUNT = 40_000
/** The bytes of an element in an array. */
const WORD = 8

const elements = Array.from({ length: COUNT }, (_, i): Element => [i, String(i).padStart(6, '0')])
const shuffled = elements.map((_, i) => elements[(i * 7919) % COUNT] as Element)

const createList = (): SortedList<Element> => new SortedList<Element>([([key]) => key], ([, id]) => id)

function readHeap(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** The bytes that a list takes for each element of `elements`, without a turn in which others allocate. */
function measureOnce(work: (list: SortedList<Element>) => void): number {
  const before = readHeap()
  const list = createList()
  work(list)
  const bytes = (readHeap() - before) / COUNT
  expect(list.length).toBeLessThanOrEqual(COUNT)
  return bytes
}

/** The least of several: the engine allocates while it compiles what the first lists run. */
const measure = (work: (list: SortedList<Element>) => void): number =>
  Math.min(...Array.from({ length: 4 }, () => measureOnce(work)))

/** Puts elements in order as they come: some at a time. */
function fill(list: SortedList<Element>, given: readonly Element[]): void {
  for (const [i, element] of given.entries()) {
    list.insert(element)
    if (i % 1024 === 1023) list.tidy()
  }
  list.rank([0], false)
}

// The element itself and the value of its first column.
test.each([
  ['that come in their order', elements, 1.25],
  ['that come in any order', shuffled, 1.75],
])('the elements of a list, %s, take little more than two places of an array', (_, given, most) => {
  expect(measure((list) => fill(list, given))).toBeLessThan(most * 2 * WORD)
})

test('the elements that are left after many were removed take what they need', () => {
  const left = measure((list) => {
    fill(list, elements)
    for (const element of shuffled.slice(COUNT / 100)) list.remove(element)
  })
  expect(left).toBeLessThan(0.25 * 2 * WORD)
})
