import cluster from 'node:cluster'
import type { ArgumentsOf, Environment } from './arguments/commands.js'
import { UsageError } from './arguments/options.js'
import { type Arguments, parseArguments, readWord } from './arguments/parse-arguments.js'
import { describeShape, describeUsage } from './arguments/usage.js'
import { init } from './commands/init.js'
import type { Input } from './commands/load.js'
import type { OnStart } from './commands/serve.js'
import type { WriteEntry } from './log-entry.js'
import { createTerminal, logAsJson, type Output, type Outputs, type Terminal } from './terminal.js'

/** The parts of the process that the command uses. */
export interface CommandIo extends Outputs {
  readonly env: Environment
  /** Opens the input of the process. A command that does not read it does not open it. */
  readonly openInput: () => Input
  /** Opens the output for data, all of which must be written. */
  readonly openOutput: () => Output
  /** The version of this package. */
  readonly version: string
  /** Called with a function that stops the service, a dump or a load. That function must be called when a signal ends the process. */
  readonly onStop: OnStart
  /** Called with the function that writes the log, if the log is JSON: crashes and warnings are written with it. */
  readonly onLog?: (write: WriteEntry) => void
}

/** Runs a parsed command line. A command imports the service only if needed, so that help and usage errors are fast. */
async function run(args: Arguments, terminal: Terminal, io: CommandIo): Promise<unknown> {
  const { print } = terminal
  const { version, onStop } = io
  switch (args.word) {
    case 'help':
      return print(describeUsage(args.of))
    case 'version':
      return print(version)
    case 'init':
      return init(args, print)
    case 'import':
      return (await import('./commands/import.js')).importFile(args, print)
    case 'backup':
      return (await import('./commands/backup.js')).backUpFile(args, terminal, onStop)
    case 'restore':
      return (await import('./commands/restore.js')).restoreFile(args, terminal, onStop)
    case 'grant':
      return (await import('./commands/grant.js')).grant(args, print)
    case 'dump':
      return (await import('./commands/dump.js')).dumpStorage(args, terminal, io)
    case 'load':
      return (await import('./commands/load.js')).loadDump(args, terminal, io)
    case 'migrate':
      return (await import('./commands/migrate.js')).migrate(args, terminal, io)
    case 'types':
      return (await import('./commands/print-types.js')).writeTypes(args, print)
    case 'check':
      return (await import('./commands/check.js')).check(args, terminal)
    case 'matrix':
      return (await import('./commands/matrix.js')).matrix(args, terminal)
    case 'diff':
      return (await import('./commands/diff.js')).diff(args, terminal)
    case 'explain':
      return (await import('./commands/explain.js')).explain(args, terminal)
    case 'openapi':
      return (await import('./commands/openapi.js')).openapi(args, terminal)
    case 'serve':
      return args.processes > 1
        ? serveSeveral(args, terminal, onStop)
        : void (await (await import('./commands/serve.js')).serve(args, terminal, onStop))
    default:
      return args satisfies never
  }
}

async function serveSeveral(
  args: ArgumentsOf<'serve'>,
  terminal: Terminal,
  onStop: OnStart,
): Promise<unknown> {
  const { serveAsOne, serveProcesses } = await import('./commands/serve-processes.js')
  return cluster.isWorker ? serveAsOne(args, terminal, onStop) : serveProcesses(args, terminal, onStop)
}

/**
 * Runs a command line and resolves with its exit code. A command that serves resolves as soon as it serves. Apart from
 * `io`, this uses only the working directory, the console and the warnings of the runtime.
 */
export async function main(args: readonly string[], io: CommandIo): Promise<number> {
  let terminal = createTerminal(io)
  try {
    const parsed = parseArguments(args, io.env)
    if (parsed.word === 'serve' && parsed.log === 'json') terminal = logAsJson(terminal)
    if (terminal.writeEntry) io.onLog?.(terminal.writeEntry)
    const code = await run(parsed, terminal, io)
    return typeof code === 'number' ? code : 0
  } catch (thrown) {
    const isUsage = thrown instanceof UsageError
    terminal.complain(
      isUsage
        ? `${thrown.message}\n\n${describeShape(readWord(args))}`
        : (await import('./explain.js')).explain(thrown),
    )
    return isUsage ? 2 : 1
  }
}
