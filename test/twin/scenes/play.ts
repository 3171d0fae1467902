import { playAccounts } from './accounts.js'
import { playReads } from './reads.js'
import { type Playing, type Process, STORAGES, type StorageName } from './stage.js'
import { playStreams } from './streams.js'
import { playWrites } from './writes.js'
import { playWrong } from './wrong.js'

const SCENES: { readonly [name: string]: (playing: Playing) => Promise<void> } = {
  reads: playReads,
  writes: playWrites,
  accounts: playAccounts,
  streams: playStreams,
  wrong: playWrong,
}

/** The rounds that are played: their number, the first of them, and the seed of their random worlds. */
interface Asked {
  readonly seed: number
  readonly first: number
  readonly rounds: number
  /** Default: all of them. */
  readonly scenes?: readonly string[]
}

/** Plays scenes on all storages. The seed and the number of a round determine each request of the round. */
export async function play({ seed, first, rounds, scenes }: Asked, process: Process): Promise<void> {
  const played = Object.entries(SCENES).filter(([scene]) => scenes?.includes(scene) ?? true)
  for (let round = first; round < first + rounds; round++)
    for (const [scene, playScene] of played)
      for (const storage of Object.keys(STORAGES) as StorageName[]) {
        const name = `round ${round}, ${scene}, ${storage}`
        await playScene({ ...process, name, storage, seed: (seed * 1009 + round) | 0 })
      }
}
