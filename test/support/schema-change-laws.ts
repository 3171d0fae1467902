import { expect } from 'vitest'
import {
  type Config,
  ConfigError,
  type createCollectionService,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { comparePermissions } from '../../src/tools/insight/index.js'
import { migrateCollections } from '../../src/tools/migrate/index.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { type OpenStream, readStream, told } from './event-streams.js'
import { comparable } from './laws.js'
import { NOW } from './oracle.js'
import { PAGE } from './page.js'
import {
  CALLER,
  type Change,
  configOf,
  type Documents,
  drawChange,
  drawPair,
  drawShape,
  identify,
  LOGS,
  MARK,
  type Shape,
} from './schema-change-worlds.js'
import { createTestService, type TestService } from './service.js'
import { idOf } from './stored.js'
import { seedOf } from './tier.js'

/** How the storages of a test are made, and what is built over them. */
export interface Changing {
  /** Creates an empty place, which is opened again and again. */
  readonly create: () => () => StorageAdapter
  readonly build?: typeof createCollectionService
  readonly migrate?: typeof migrateCollections
  /** The changes, one after another. Default: any. */
  readonly changes?: readonly string[]
}

/** How many pairs were different, and what became of their configurations. */
export interface SeenChanges {
  different: number
  started: number
  refused: number
  /** How many streams told of something that a run changed. */
  told: number
  /** How many runs removed values. */
  erased: number
}

const MOST = 4

const now = (): number => Date.parse(NOW)

/**
 * Non-interference of schema changes (CONTRACT.md §5, "No leak"): two stores that show a caller the same still do so after
 * any change of the configuration that does not itself show more, and while a run brings documents into their form. Throws
 * on a counterexample.
 */
export async function checkSchemaChanges(
  worlds: number,
  changing: Changing,
  first = 1,
): Promise<SeenChanges> {
  const { changes } = changing
  const seen: SeenChanges = { different: 0, started: 0, refused: 0, told: 0, erased: 0 }
  for (let seed = first; seed < first + worlds; seed++) {
    const random = createRandom(seedOf(seed))
    const shape = drawShape(random)
    const pair = drawPair(random, shape)
    if (JSON.stringify(pair[0]) !== JSON.stringify(pair[1])) seen.different += 1
    const sides = await Promise.all(pair.map((documents) => Side.open(changing, shape, documents)))
    try {
      await expectSame(sides, (side) => side.ask(shape), `seed ${seed}, at first`)
      let before = shape
      const earlier = new Set([identify(shape)])
      for (let step = 1; step <= (changes?.length ?? MOST); step++) {
        const change = drawChange(random, before, step, changes?.[step - 1])
        const { shape: after } = change
        const what = `seed ${seed}: ${JSON.stringify([before, after].map(configOf))}`
        // The configuration before the last one may come back, so that what it declared is shown again.
        const isBack = identify(after) !== identify(before) && earlier.has(identify(after))
        if (change.isWider || isBack) expectNamed(before, after, what)
        if (change.isWider || isBack) break
        const outcomes = await Promise.all(sides.map((side) => side.change(change)))
        const events = sides.map(({ events }) => events)
        expect(events[1], what).toEqual(events[0])
        if (events.some((some) => some.length > 2)) seen.told += 1
        // Values that only one side has may keep its configuration from starting: a caller then learns no more.
        if (outcomes.includes(false)) {
          seen.refused += 1
          break
        }
        seen.started += 1
        await expectSame(sides, (side) => side.ask(after), what)
        earlier.add(identify(after))
        before = after
      }
    } finally {
      seen.erased += sides.filter(({ erased }) => erased > 0).length
      await Promise.all(sides.map((side) => side.close()))
    }
  }
  return seen
}

async function expectSame(
  sides: readonly Side[],
  ask: (side: Side) => Promise<readonly string[]>,
  what: string,
): Promise<void> {
  const [here, there] = await Promise.all(sides.map(ask))
  for (const [i, answer] of (here ?? []).entries())
    if (there?.[i] !== answer) expect(there?.[i], what).toBe(answer)
}

/** A change that may show more is named by the comparison of the configurations. */
function expectNamed(before: Shape, after: Shape, what: string): void {
  const differences = comparePermissions(configOf(before), configOf(after), { authenticate: true })
  expect(differences, what).not.toEqual([])
}

/** A store of a pair, under one configuration after another. */
class Side {
  readonly #connect: () => StorageAdapter
  readonly #changing: Changing
  #shape: Shape
  #service: TestService
  #marks = 0
  /** What a stream told during the last change. */
  events: readonly unknown[] = []
  /** How many steps of its runs have removed values. */
  erased = 0

  private constructor(changing: Changing, connect: () => StorageAdapter, shape: Shape) {
    this.#changing = changing
    this.#connect = connect
    this.#shape = shape
    this.#service = this.#start()
  }

  static async open(changing: Changing, shape: Shape, documents: Documents): Promise<Side> {
    const side = new Side(changing, changing.create(), shape)
    await side.#service.handler.ready()
    const steps = documents.map((insert) => ({ in: shape.stored, insert: insert as StoredDocument }))
    expect(await side.#service.adapter.write(steps, {})).toMatchObject({ ok: true })
    return side
  }

  #start(): TestService {
    const { build } = this.#changing
    return createTestService(configOf(this.#shape), {
      adapter: this.#connect(),
      now,
      page: PAGE,
      authenticate: () => null,
      holdsOthers: true,
      ...(build ? { create: build } : {}),
    })
  }

  /** Runs what a configuration needs while the earlier one serves, but for migrations and what erases, and starts it. Returns whether it starts. */
  async change({ shape, migrations, isErasing = false }: Change): Promise<boolean> {
    const isAlone = isErasing || Object.keys(migrations).length > 0
    const stream = isAlone ? undefined : await this.#watch()
    if (isAlone) await this.#service.handler.close()
    const adapter = this.#connect()
    const { migrate = migrateCollections } = this.#changing
    const { steps } = await migrate(configOf(shape) as unknown as Config, adapter, {
      migrations,
      erase: isErasing,
      now,
    })
    this.erased += steps.filter(({ kind, done }) => kind === 'erase' && done > 0).length
    expect(steps.flatMap(({ ids }) => ids)).toEqual([])
    this.events = stream ? await this.#readMarked(stream) : []
    if (!isAlone) await this.#service.handler.close()
    if (adapter !== this.#service.adapter) await adapter.close()
    this.#shape = shape
    this.#service = this.#start()
    try {
      await this.#service.handler.ready()
      return true
    } catch (cause) {
      if (!(cause instanceof Error) || cause.name !== ConfigError.name) throw cause
      const { status, body } = await this.#service.send(`GET /${shape.name}`, { ...AS, mayFail: true })
      expect([status, Object.keys(body).sort()]).toEqual([
        503,
        ['code', 'detail', 'requestId', 'status', 'title'],
      ])
      return false
    }
  }

  async #watch(): Promise<OpenStream> {
    const request = new Request(`http://service.test/${this.#shape.name}/changes`)
    const stream = readStream(await this.#service.handler.as(CALLER)(request))
    await stream.until(1)
    return stream
  }

  /** Returns what a stream has told up to a change of a document that is always shown. */
  async #readMarked(stream: OpenStream): Promise<readonly unknown[]> {
    this.#marks += 1
    const body = { [MARK]: this.#marks }
    const { status } = await this.#service.send(`PATCH /${this.#shape.name}/${idOf(1)}`, { ...AS, body })
    expect(status).toBe(200)
    const isTold = (): boolean => stream.events.some(({ data }) => data[MARK] === this.#marks)
    while (!isTold()) {
      const seen = stream.events.length + 1
      if ((await stream.until(seen)).length < seen) throw new Error('the stream has ended')
    }
    await stream.close()
    return told(stream.events)
  }

  /** Sends every kind of request about every name that there is or was, and returns the answers. */
  async ask(shape: Shape): Promise<readonly string[]> {
    const { name, fields, earlier } = shape
    const all = [...fields, ...earlier]
    const names = [...new Set([...all.flatMap((one) => [one.name, one.stored]), 'u1', 'o.p', 'o.p1', 'l.p'])]
    const ids = Array.from({ length: 10 }, (_, i) => idOf(i + 1))
    const requests: readonly (readonly [line: string, body?: object])[] = [
      [`GET /${name}`],
      [`GET /${name}?limit=2&sort[${fields.at(-1)?.name}]=desc`],
      [`GET /${LOGS}`],
      ['GET /_openapi.json'],
      ...ids.map((id): readonly [string] => [`GET /${name}/${id}`]),
      ...names.flatMap((one, i): readonly (readonly [string, object?])[] =>
        i % 2 === this.#marks % 2
          ? [[`GET /${name}?sort[${one}]=1&project=${one}`], [`GET /${name}/count?q[${one}][$gte]=x`]]
          : [
              [`GET /${name}?q[${one}][$exists]=true`],
              [`GET /${name}/aggregate?by[${one}]=value`],
              // A mark that is no number: nothing is created.
              [`POST /${name}`, { [one]: 'x', [MARK]: 'x' }],
            ],
      ),
      ...ids
        .slice(0, 3)
        .flatMap((id, i) =>
          names.slice(i, i + 2).map((one) => [`PATCH /${name}/${id}`, { [one]: 'y' }] as const),
        ),
      [`GET /${name}`],
    ]
    const answers: string[] = []
    for (const [line, body] of requests) {
      const sent = await this.#service.send(line, { ...AS, ...(body ? { body } : {}) })
      answers.push(`${line} ${comparable(sent)}`)
    }
    return answers
  }

  async close(): Promise<void> {
    await this.#service.handler.close()
  }
}

const AS = { caller: CALLER }
