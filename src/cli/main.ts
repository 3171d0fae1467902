#!/usr/bin/env node
import cluster from 'node:cluster'
import type { Arguments, ServeArguments } from './arguments/arguments.js'
import { parseArguments, readWord } from './arguments/parse-arguments.js'
import { describeShape, describeUsage } from './arguments/usage.js'
import { UsageError } from './arguments/usage-error.js'
import { init } from './commands/init.js'
import { createTerminal } from './terminal.js'

/** The build defines it. */
declare const PACKAGE_VERSION: string

const terminal = createTerminal(process)
const { print, complain } = terminal

/** What needs the service is loaded by the words that use it: help and refusals are there at once. */
async function run(args: Arguments): Promise<void> {
  switch (args.word) {
    case 'help':
      return print(describeUsage(args.of))
    case 'version':
      return print(PACKAGE_VERSION)
    case 'init':
      return init(args, print)
    case 'import':
      return (await import('./commands/import.js')).importFile(args, print)
    case 'grant':
      return (await import('./commands/grant.js')).grant(args, print)
    case 'types':
      return (await import('./commands/print-types.js')).writeTypes(args, print)
    case 'check':
      process.exitCode = await (await import('./commands/check.js')).check(args, terminal)
      return
    case 'matrix':
      return (await import('./commands/matrix.js')).matrix(args, terminal)
    case 'diff':
      process.exitCode = await (await import('./commands/diff.js')).diff(args, terminal)
      return
    case 'explain':
      return (await import('./commands/explain.js')).explain(args, terminal)
    case 'openapi':
      return (await import('./commands/openapi.js')).openapi(args, terminal)
    case 'serve':
      return args.processes > 1
        ? serveSeveral(args)
        : void (await (await import('./commands/serve.js')).serve(args, terminal, stopOnSignal))
    default:
      return args satisfies never
  }
}

async function serveSeveral(args: ServeArguments): Promise<void> {
  const { serveAsOne, serveProcesses } = await import('./commands/serve-processes.js')
  if (!cluster.isWorker) return serveProcesses(args, terminal, stopOnSignal)
  // A terminal interrupts all processes; the first one tells the others.
  process.on('SIGINT', () => {})
  await serveAsOne(args, terminal, (stop) => stopOnSignal(stop, ['SIGTERM']))
}

function stopOnSignal(
  stop: () => Promise<void>,
  signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'],
): void {
  let isStopping = false
  for (const signal of signals) {
    process.on(signal, () => {
      // A second signal ends the process at once.
      if (isStopping) process.exit(1)
      isStopping = true
      void stop()
    })
  }
}

async function main(args: readonly string[]): Promise<void> {
  try {
    await run(parseArguments(args, process.env))
  } catch (thrown) {
    const isUsage = thrown instanceof UsageError
    complain(
      isUsage
        ? `${thrown.message}\n\n${describeShape(readWord(args))}`
        : (await import('./explain.js')).explain(thrown),
    )
    process.exitCode = isUsage ? 2 : 1
    // The process that began this one would keep it.
    if (cluster.isWorker) process.exit()
  }
}

void main(process.argv.slice(2))
