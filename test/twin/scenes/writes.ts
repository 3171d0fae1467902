import { CLAIMING_WRITES } from '../../support/claiming-writes.js'
import fc from '../../support/fast-check.js'
import { FILLED_WRITES, HOOKED_WRITES } from '../../support/hooked-writes.js'
import { RELATED_WRITES } from '../../support/related-writes.js'
import { raiseIds } from '../../support/worlds.js'
import { type WriteWorld, writeWorlds } from '../../support/write-worlds.js'
import { fill, openScene, type Playing, type ServiceSettings, type Stage } from './stage.js'

const SOURCES: readonly fc.Arbitrary<WriteWorld>[] = [
  writeWorlds,
  CLAIMING_WRITES.worlds,
  RELATED_WRITES.worlds,
  HOOKED_WRITES.worlds,
  FILLED_WRITES.worlds,
]

/** Random writes under random rules, one upon the other, and what can be read after them. */
export async function playWrites(playing: Playing): Promise<void> {
  const { open } = openScene(playing)
  for (const source of SOURCES) {
    for (const world of fc.sample(source, { seed: playing.seed, numRuns: 2 })) {
      for (const store of world.pair) {
        const options = { ...(world.hooks ? { hooks: world.hooks } : {}), authenticate: () => null }
        const stage = await open(world.config, options as ServiceSettings)
        await fill(stage.adapter, store)
        await write(stage, world, playing)
        await stage.close()
      }
    }
  }
}

async function write(
  stage: Stage,
  { requests, caller }: Pick<WriteWorld, 'requests' | 'caller'>,
  { clock }: Playing,
): Promise<void> {
  for (const [i, { line, body, headers }] of requests.entries()) {
    clock.now += i % 3
    const strict = i % 5 === 4 ? { prefer: 'handling=strict' } : {}
    const text = body === undefined ? {} : { body }
    const written = i % 7 === 6 ? raiseIds(line) : line
    const { status, headers: told } = await stage.ask(written, {
      ...text,
      caller,
      headers: { ...headers, ...strict },
    })
    const path = told.get('location') ?? line.split(' ')[1] ?? ''
    if (status >= 300 || !/\/\w+\/[\da-f-]{36}$/.test(path)) continue
    const { headers: read } = await stage.ask(`GET ${path}`, { caller })
    const etag = read.get('etag')
    // The same again, on the condition that nothing has changed since, or that something has.
    if (etag !== null && i % 4 === 0 && body !== undefined)
      await stage.ask(`PATCH ${path}`, {
        caller,
        ...text,
        headers: { [i % 8 ? 'if-match' : 'if-none-match']: etag },
      })
  }
  for (const name of ['things', 'people']) await stage.ask(`GET /${name}`, { caller })
  await stage.ask('GET /_openapi.json', { caller })
}
