/**
 * Lets the clock of this process be faster, and its short waits shorter: what a runner of migrations waits for. Timeouts of five
 * seconds and more stay as they are. Loaded before all that reads clocks.
 */
const SPEED = 40
/** A run rests as long as it works, by its fast clock: a slow write is followed by a long rest. */
const LONG = 5000

const { setTimeout: later } = globalThis
const now = performance.now.bind(performance)

performance.now = () => now() * SPEED
globalThis.setTimeout = (run, milliseconds = 0, ...others) =>
  later(run, milliseconds < LONG ? milliseconds / SPEED : milliseconds, ...others)
