import { describe, test } from 'vitest'
import { createCollectionService } from '../../src/index.js'
import { checkData } from '../../src/tools/insight/index.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { useLastingStorages } from '../support/storages.js'
import { checkStored, PLANT_NAMES, randomStored, reopened } from '../support/stored-laws.js'
import { playUntilSeen, rounds, seedOf } from '../support/tier.js'

// CONTRACT.md §7, "Stored documents"; §8, "Check"

const WORLDS = rounds(50, 500)

describe.each(useLastingStorages())('stored documents in %s', (_, createLasting) => {
  test(`are compared with the configuration: ${WORLDS} random pairs`, { timeout: 600_000 }, async () => {
    const seen = new Set<string>()
    const play = async (part: number): Promise<void> => {
      const random = createRandom(seedOf(81) + part)
      for (let i = 0; i < WORLDS; i++) {
        const world = randomStored(random)
        for (const { plants } of Object.values(world))
          for (const plant of Object.values(plants)) seen.add(plant)
        const build = { create: createCollectionService, check: checkData }
        await checkStored(build, world, reopened(createLasting())).catch((thrown: unknown) => {
          throw new Error(
            `the pair ${i}, ${JSON.stringify(Object.values(world).map(({ plants }) => plants))}: ${thrown}`,
            { cause: thrown },
          )
        })
      }
    }
    await playUntilSeen(play, () => PLANT_NAMES.filter((plant) => !seen.has(plant)))
  })
})
