/** Lets this process live faster: what takes 20 seconds elsewhere takes half a second here. Loaded before all that reads clocks. */
const SPEED = 40

const { setTimeout: later } = globalThis
const now = performance.now.bind(performance)

performance.now = () => now() * SPEED
// What is short already stays as it is: it does not wait for time to pass, but for others.
globalThis.setTimeout = (run, milliseconds = 0, ...others) =>
  later(run, milliseconds >= 1000 ? milliseconds / SPEED : milliseconds, ...others)
