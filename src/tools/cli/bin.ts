#!/usr/bin/env node
import cluster from 'node:cluster'
import { main } from './main.js'

/** The version of the package, which the build inserts. */
declare const PACKAGE_VERSION: string

// Ctrl-C in a terminal sends SIGINT to all processes. Workers ignore it, because the first process stops them.
if (cluster.isWorker) process.on('SIGINT', () => {})

function onStop(stop: () => Promise<void>): void {
  let isStopping = false
  for (const signal of cluster.isWorker ? ['SIGTERM'] : ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      // A second signal ends the process immediately.
      if (isStopping) process.exit(1)
      isStopping = true
      void stop()
    })
  }
}

const { argv, env, stdout, stderr } = process
void main(argv.slice(2), { env, stdout, stderr, version: PACKAGE_VERSION, onStop }).then((code) => {
  if (code === 0) return
  process.exitCode = code
  // Without `exit`, the channel to the first process would keep this worker alive.
  if (cluster.isWorker) process.exit()
})
