/** The part of `process` that some runtimes have. */
const { process: host } = globalThis as {
  readonly process?: { emitWarning?(message: string, options: { readonly code: string }): void }
}

/**
 * Creates a function that receives whether consumers hold changes beyond the byte limit of the log, and warns when
 * that begins (CONTRACT.md §9, "The log").
 */
export function createHeldWarning(): (isHeld: boolean) => void {
  let wasHeld = false
  return (isHeld) => {
    if (isHeld && !wasHeld)
      host?.emitWarning?.(
        'consumers have not handled changes that the log would drop: it holds more than limits.changesBytes',
        { code: 'COLLECTION_SERVICE_LOG_HELD' },
      )
    wasHeld = isHeld
  }
}
