/** In earlier versions, two connections that restart the log at once can corrupt the file. */
const SOUND = [3, 51, 3]

const isSound = (version: string): boolean => {
  const parts = version.split('.').map(Number)
  for (const [i, least] of SOUND.entries()) {
    const part = parts[i] ?? 0
    if (part !== least) return part > least
  }
  return true
}

/** Creates a function that warns once of a version of SQLite that can corrupt a file. */
export function createVersionWarning(
  warn: (message: string, code: string) => void,
): (version: string) => void {
  let hasWarned = false
  return (version) => {
    if (hasWarned || isSound(version)) return
    hasWarned = true
    warn(
      `SQLite ${version} can corrupt a file that several connections write to; use ${SOUND.join('.')} or later: npm install better-sqlite3@latest`,
      'COLLECTION_SERVICE_SQLITE',
    )
  }
}

/** Emits the warning as a process warning. */
export const warnOfVersion = createVersionWarning((message, code) => process.emitWarning(message, { code }))
