/** The first SQLite version in which two connections that restart the log at the same time cannot corrupt the file. */
const SOUND = [3, 51, 3]

/** The version in messages. */
export const LEAST = SOUND.join('.')

/** Whether a version of SQLite cannot corrupt a file that several connections write to. */
export function isSound(version: string): boolean {
  const parts = version.split('.').map(Number)
  for (const [i, least] of SOUND.entries()) {
    const part = parts[i] ?? 0
    if (part !== least) return part > least
  }
  return true
}

/** Creates a function that receives a driver and warns, only once, if its SQLite can corrupt a file. */
export function createVersionWarning(
  warn: (message: string, code: string) => void,
): (driver: { readonly version: string; readonly update: string }) => void {
  let hasWarned = false
  return ({ version, update }) => {
    if (hasWarned || isSound(version)) return
    hasWarned = true
    warn(
      `SQLite ${version} can corrupt a file that several connections write to; use ${LEAST} or later: ${update}`,
      'COLLECTION_SERVICE_SQLITE',
    )
  }
}

/** Emits the warning as a process warning. */
export const warnOfVersion = createVersionWarning((message, code) => process.emitWarning(message, { code }))
