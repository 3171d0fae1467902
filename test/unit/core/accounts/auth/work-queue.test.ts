import { describe, expect, test } from 'vitest'
import { createWorkQueue } from '../../../../../src/core/accounts/auth/hasher.js'
import { isServiceError } from '../../../../../src/core/errors.js'

/** A task that ends when it is told to, and notes when it begins. */
function createTask(name: string, log: string[]) {
  let end: (value: string) => void = () => {}
  const done = new Promise<string>((resolve) => {
    end = resolve
  })
  const task = (): Promise<string> => {
    log.push(name)
    return done
  }
  return { task, done, end: () => end(name) }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The code with which work is refused. */
const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (thrown: unknown) => (isServiceError(thrown) ? thrown.code : thrown),
  )

describe('a work queue', () => {
  test('runs one task at a time, in the order in which they came', async () => {
    const queue = createWorkQueue(10)
    const log: string[] = []
    const [a, b, c] = [createTask('a', log), createTask('b', log), createTask('c', log)]
    const results = [a, b, c].map(({ task }) => queue.run(task))
    await settle()
    expect(log).toEqual(['a'])
    // One that ends early does not begin early.
    c.end()
    await settle()
    expect(log).toEqual(['a'])
    a.end()
    await settle()
    expect(log).toEqual(['a', 'b'])
    b.end()
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c'])
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test('a newcomer does not take the turn of one that waits', async () => {
    const queue = createWorkQueue(10)
    const log: string[] = []
    const [a, b, c] = [createTask('a', log), createTask('b', log), createTask('c', log)]
    const first = queue.run(a.task)
    const second = queue.run(b.task)
    a.end()
    // At the very moment at which the first is over, before the second has taken its turn.
    const third = a.done.then(() => queue.run(c.task))
    b.end()
    c.end()
    await Promise.all([first, second, third])
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test('refuses what goes beyond its capacity, and takes again when there is room', async () => {
    const queue = createWorkQueue(2)
    const log: string[] = []
    const tasks = ['a', 'b', 'c', 'd', 'e'].map((name) => createTask(name, log))
    const [a, b, c, d, e] = tasks.map(({ task }) => task)
    if (!a || !b || !c || !d || !e) throw new Error('five tasks')
    const taken = [queue.run(a), queue.run(b), queue.run(c)]
    expect(await refusal(queue.run(d))).toBe('overloaded')
    tasks[0]?.end()
    await taken[0]
    const later = queue.run(e)
    for (const { end } of tasks) end()
    expect(await Promise.all([...taken, later])).toEqual(['a', 'b', 'c', 'e'])
    expect(log).toEqual(['a', 'b', 'c', 'e'])
  })

  test('with no room to wait, one task runs all the same', async () => {
    const queue = createWorkQueue(0)
    const log: string[] = []
    const [a, b] = [createTask('a', log), createTask('b', log)]
    const first = queue.run(a.task)
    expect(await refusal(queue.run(b.task))).toBe('overloaded')
    a.end()
    expect(await first).toBe('a')
    b.end()
    expect(await queue.run(b.task)).toBe('b')
  })

  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('broken'))],
    [
      'throws at once',
      () => {
        throw new Error('broken')
      },
    ],
  ])('goes on after a task that %s', async (_, broken) => {
    const queue = createWorkQueue(10)
    const log: string[] = []
    const next = createTask('next', log)
    const first = queue.run(broken)
    const second = queue.run(next.task)
    next.end()
    await expect(first).rejects.toThrow('broken')
    expect(await second).toBe('next')
    expect(await queue.run(async () => 'free')).toBe('free')
  })

  test('a task whose signal aborts while it waits is refused and never runs, and its place is free', async () => {
    const queue = createWorkQueue(1)
    const log: string[] = []
    const [a, b, c] = [createTask('a', log), createTask('b', log), createTask('c', log)]
    const first = queue.run(a.task)
    const controller = new AbortController()
    const waiting = refusal(queue.run(b.task, { signal: controller.signal }))
    controller.abort()
    expect(await waiting).toBe('overloaded')
    const third = queue.run(c.task)
    a.end()
    c.end()
    expect(await Promise.all([first, third])).toEqual(['a', 'c'])
    expect(log).toEqual(['a', 'c'])
  })

  test('a signal that has aborted before refuses at once', async () => {
    const queue = createWorkQueue(1)
    const log: string[] = []
    expect(await refusal(queue.run(createTask('a', log).task, { signal: AbortSignal.abort() }))).toBe(
      'overloaded',
    )
    expect(log).toEqual([])
    expect(await queue.run(async () => 'free')).toBe('free')
  })

  test('a signal that aborts when the task has begun changes nothing', async () => {
    const queue = createWorkQueue(1)
    const log: string[] = []
    const [a, b, c] = [createTask('a', log), createTask('b', log), createTask('c', log)]
    const controller = new AbortController()
    const first = queue.run(a.task, { signal: controller.signal })
    const second = queue.run(b.task, { signal: controller.signal })
    a.end()
    await first
    await settle()
    const third = queue.run(c.task)
    controller.abort()
    b.end()
    c.end()
    expect(await Promise.all([second, third])).toEqual(['b', 'c'])
    expect(log).toEqual(['a', 'b', 'c'])
  })
})
