import { whenFailed, whenReady } from '../../../core/promises.js'
import type { MaybePromise } from '../../../core/storage.js'
import type { Statement } from '../../sql/dialect.js'
import { explainRead } from './faults.js'
import type { ProgramDriver } from './program-driver.js'
import { toProgramStatement } from './program-engine.js'

/** Returns the first column of every row of each statement, all as of one moment. */
export const readAll = (
  driver: ProgramDriver,
  statements: readonly Statement[],
): MaybePromise<readonly (readonly unknown[])[]> =>
  whenFailed(
    () => {
      const asked = statements.map((statement) => toProgramStatement(statement, driver.limits))
      return whenReady(driver.read(asked), (results) => results.map(({ rows }) => rows))
    },
    (thrown) => {
      throw explainRead(thrown)
    },
  )

/** Returns the first column of every row of a statement. */
export const readRows = (driver: ProgramDriver, statement: Statement): MaybePromise<readonly unknown[]> =>
  whenReady(readAll(driver, [statement]), ([rows = []]) => rows)
