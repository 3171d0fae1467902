import { type BigIntStats, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'

/** States of files by name. */
type States = ReadonlyMap<string, string>

/** Returns the state of a file as text, which differs after the file was written, replaced or removed. */
export const describeState = ({ ino, size, mtimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs}`

/** The state of a file that does not exist. */
export const NO_FILE = 'none'

/** Records a file before it is read. */
type RecordFile = (url: string) => void

type Load = (url: string, context: unknown, next: (url: string, context: unknown) => unknown) => unknown

/** Node 22.15 and later have this function, which replaces `register`. */
const { registerHooks } = nodeModule as {
  readonly registerHooks?: (hooks: { readonly load: Load }) => void
}

/**
 * Records the files of all modules that the process loads from now on, except those of installed packages and of the
 * command itself. Returns a function that returns their states, each from before the file was read.
 */
export function recordFiles(): () => States {
  const states = new Map<string, string>()
  const record: RecordFile = (url) => {
    if (!url.startsWith('file:')) return
    const file = fileURLToPath(url)
    if (!states.has(file) && isOfUser(file)) states.set(file, readState(file))
  }
  const collect = registerHooks ? recordHere(registerHooks, record) : recordInThread(record)
  return () => {
    collect()
    // In Node 20, hooks do not see the modules that CommonJS modules load.
    for (const file of Object.keys(nodeModule.createRequire(import.meta.url).cache))
      if (!states.has(file) && isOfUser(file)) states.set(file, readState(file))
    return states
  }
}

const isOfUser = (file: string): boolean =>
  !/[\\/]node_modules[\\/]/.test(file) && !file.startsWith(import.meta.dirname)

function readState(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found ? describeState(found) : NO_FILE
}

function recordHere(register: NonNullable<typeof registerHooks>, record: RecordFile): () => void {
  register({
    load(url, context, next) {
      record(url)
      return next(url, context)
    },
  })
  return () => {}
}

/** The hooks of earlier versions of Node, which run in a thread of their own: a module that reports what is loaded. */
const HOOKS = `
let port
export const initialize = (given) => { port = given }
export const load = (url, context, next) => { port.postMessage(url); return next(url, context) }
`

/** Records files in earlier versions of Node. The state of a file is then that from after it was read. */
function recordInThread(record: RecordFile): () => void {
  const { port1, port2 } = new MessageChannel()
  const url = `data:text/javascript,${encodeURIComponent(HOOKS)}`
  nodeModule.register(url, { data: port2, transferList: [port2] })
  return () => {
    for (let got = receiveMessageOnPort(port1); got; got = receiveMessageOnPort(port1)) record(got.message)
  }
}
