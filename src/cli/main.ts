#!/usr/bin/env node
import { explain } from './explain.js'
import { grant } from './grant.js'
import { parseArguments, USAGE, UsageError } from './parse-arguments.js'
import { writeTypes } from './print-types.js'
import { serve } from './serve.js'

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`${line}\n`)

async function run(): Promise<void> {
  const args = parseArguments(process.argv.slice(2))
  if (args.help) return print(USAGE)
  if (args.grant) return grant(args.config, args.grant, print)
  if (args.types) return writeTypes(args.config, args.types, print)
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
