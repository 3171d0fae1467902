#!/usr/bin/env node
import cluster from 'node:cluster'
import { createWriteStream, fstatSync } from 'node:fs'
import type { Input } from './commands/load.js'
import type { WriteEntry } from './log-entry.js'
import { main } from './main.js'
import type { Output } from './terminal.js'

/** The version of the package, which the build inserts. */
declare const PACKAGE_VERSION: string

// Ctrl-C in a terminal sends SIGINT to all processes. Workers ignore it, because the first process stops them.
if (cluster.isWorker) process.on('SIGINT', () => {})

function onStop(stop: (signal?: string) => Promise<void>): void {
  let isStopping = false
  for (const signal of cluster.isWorker ? ['SIGTERM'] : ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      // A second signal ends the process immediately. A worker may get a signal from the system and from the first
      // process: it ends with that process.
      if (isStopping && !cluster.isWorker) process.exit(1)
      if (isStopping) return
      isStopping = true
      void stop(signal)
    })
  }
}

/** Writes crashes and warnings to the log, which Node would otherwise print as text. */
function onLog(write: WriteEntry): void {
  // A rejected promise that nothing handles is an uncaught exception too.
  process.on('uncaughtException', (cause, origin) => {
    write('error', 'the process crashed', { origin, cause })
    process.exit(1)
  })
  // Node's own listener prints the warning.
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    const { code, detail } = warning as { readonly code?: string; readonly detail?: string }
    write('warn', warning.message, { warning: warning.name, code, detail })
  })
}

const { argv, env, stdout, stderr } = process
const openInput = (): Input => process.stdin
/** Opens the output. For a file, Node's `stdout` loses what a full disk does not take of a text, without an error. */
const openOutput = (): Output =>
  fstatSync(stdout.fd).isFile() ? createWriteStream('', { fd: stdout.fd, autoClose: false }) : stdout
const io = { env, stdout, stderr, openInput, openOutput, version: PACKAGE_VERSION, onStop, onLog }
void main(argv.slice(2), io).then((code) => {
  if (code === 0) return
  process.exitCode = code
  // Without `exit`, the channel to the first process would keep this worker alive.
  if (cluster.isWorker) process.exit()
})
