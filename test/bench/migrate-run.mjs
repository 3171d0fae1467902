/** Gives the documents of a storage the value of a `fill`, in a process of its own, and tells how long that took. */
import { migrateCollections } from '../../dist/migrate.js'
import { AFTER, connect } from './migrate-storage.mjs'

const [kind, place] = process.argv.slice(2)
const adapter = connect(kind, place)
await adapter.open([])
global.gc()
const before = process.memoryUsage().heapUsed
let highest = before
const watch = setInterval(() => {
  // What is garbage is not held.
  global.gc()
  highest = Math.max(highest, process.memoryUsage().heapUsed)
}, 2000)
const start = performance.now()
const cpu = process.cpuUsage()
const { steps } = await migrateCollections(AFTER, adapter)
const seconds = (performance.now() - start) / 1000
const { user, system } = process.cpuUsage(cpu)
clearInterval(watch)
global.gc()
highest = Math.max(highest, process.memoryUsage().heapUsed)
process.send({ seconds, cpu: (user + system) / 1e6, heap: highest - before, done: steps[0]?.done })
await adapter.close()
process.disconnect()
