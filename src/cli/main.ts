#!/usr/bin/env node
import { ConfigError, isServiceError } from '../errors.js'
import { parseArguments, USAGE, UsageError } from './parse-arguments.js'
import { FileError } from './read-json-file.js'
import { serve } from './serve.js'

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`${line}\n`)

/** Says what is wrong in words where it is the user's to mend, and shows everything else whole. */
function explain(thrown: unknown): string {
  if (thrown instanceof UsageError) return `${thrown.message}\n\n${USAGE}`
  if (thrown instanceof FileError || thrown instanceof ConfigError) return thrown.message
  if (isServiceError(thrown)) {
    const faults = thrown.errors.map(({ path, message }) => `  ${path || 'it'} ${message}`)
    return ['The seed cannot be stored:', ...(faults.length > 0 ? faults : [thrown.message])].join('\n')
  }
  const { code } = thrown as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return 'The port is taken; --port names another.'
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

async function run(): Promise<void> {
  const args = parseArguments(process.argv.slice(2))
  if (args.help) return print(USAGE)
  const serving = await serve(args, print)
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // Asked twice, whoever asks does not want to wait.
      if (isStopping) process.exit(1)
      isStopping = true
      void serving.stop()
    })
  }
}

run().catch((thrown: unknown) => {
  complain(explain(thrown))
  process.exitCode = thrown instanceof UsageError ? 2 : 1
})
