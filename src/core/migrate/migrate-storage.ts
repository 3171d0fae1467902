import { Call, type Service } from '../request/call.js'
import { UNHURRIED } from '../request/deadline.js'
import { createStore } from '../request/store.js'
import type { StorageAdapter } from '../storage.js'
import { renameStorage } from '../stored/names/renamed-storage.js'
import { isFreshStorage, listLines } from '../stored/record/process-lines.js'
import { forgetProgress, storeErasing } from '../stored/record/progress.js'
import { noteErased, noteFilled, noteFinished, readRecord } from '../stored/record/schema-record.js'
import type { Migrations } from '../types.js'
import { type MigrateStep, type Run, runSteps } from './run-steps.js'
import { Turn } from './turn.js'

/** The input of a run in one storage. */
export interface StorageRun extends Pick<Run, 'isDry' | 'isErasing' | 'signal' | 'onProgress' | 'onFailed'> {
  readonly service: Service
  readonly migrations: Migrations
}

/**
 * Runs all steps that the documents in a storage need. `storage` is open, without unique indexes that are new
 * (`withoutNewIndexes`), and uses stored names. Throws `ConfigError` if the code of a migration is missing.
 */
export async function migrateStorage(
  storage: StorageAdapter,
  given: StorageRun,
): Promise<readonly MigrateStep[]> {
  const { service, signal, isDry } = given
  const { plan, now } = service
  const adapter = renameStorage(storage, plan.collections)
  const records = createStore(storage, UNHURRIED)
  const store = createStore(adapter, UNHURRIED)
  const turn = new Turn(adapter, signal)
  const isFresh = !(await readRecord(records)) && (await isFreshStorage(records, plan, now()))
  const isRecorded = !isDry && !isFresh
  const run: Run = {
    ...given,
    adapter,
    turn,
    call: new Call(service, { deadline: UNHURRIED, store, caller: null, session: undefined }),
    async listFinished() {
      // A storage without documents takes the configuration as it is.
      return isFresh ? plan.migrations : ((await readRecord(records))?.finished ?? [])
    },
    now,
    listLines: () => listLines(records, now()),
    async onFilled({ storedName }, names) {
      if (isRecorded) await noteFilled(records, storedName, names)
    },
    async onFinished(migration) {
      if (!isRecorded) return
      await noteFinished(records, migration)
      await turn.write([forgetProgress(migration)])
    },
    async listErased() {
      return (await readRecord(records))?.erased ?? []
    },
    async onErased(keys) {
      if (isDry) return
      await noteErased(records, keys)
      await turn.write(storeErasing([]))
    },
  }
  try {
    return await runSteps(run, plan)
  } finally {
    await turn.release()
  }
}
