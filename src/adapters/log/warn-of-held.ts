/** The part of `process` that this module uses. Some runtimes lack `process`. */
const { process: host } = globalThis as {
  readonly process?: { emitWarning?(message: string, options: { readonly code: string }): void }
}

/**
 * Creates a function that warns when unhandled changes begin to keep the log above its byte limit (CONTRACT.md §9, "The
 * log"). `isHeld`: whether the log is now above the limit for this reason.
 */
export function createHeldWarning(): (isHeld: boolean) => void {
  let wasHeld = false
  return (isHeld) => {
    if (isHeld && !wasHeld)
      host?.emitWarning?.(
        'the log of changes exceeds limits.changesBytes, because consumers have not handled its oldest changes yet; check whether a consumer fails or is too slow',
        { code: 'COLLECTION_SERVICE_LOG_HELD' },
      )
    wasHeld = isHeld
  }
}
