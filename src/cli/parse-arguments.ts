import { parseArgs } from 'node:util'

/** What the command was told. */
export interface Arguments {
  readonly config: string
  readonly port: number
  readonly cors: readonly string[]
  readonly seed: string | undefined
  readonly help: boolean
}

/** A command line that makes no sense. */
export class UsageError extends Error {}

export const USAGE = `collection-service [config.json] [--port 3000] [--cors ORIGIN] [--seed documents.json]

  config.json   what to serve (default: config.json in this folder)
  --port        where to listen; 0 takes a free port
  --cors        an origin whose pages may read answers, or *; may be repeated
  --seed        documents to begin with: { "<collection>": [ ... ] }`

/** Parses a command line. Throws `UsageError`. */
export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args)
  const [config = 'config.json', ...others] = positionals
  if (others.length > 0) throw new UsageError(`one configuration at a time; also found ${others.join(', ')}`)
  const port = Number(values.port ?? 3000)
  if (!/^\d{1,5}$/.test(values.port ?? '3000') || port > 65_535) {
    throw new UsageError(`--port must be a number from 0 to 65535, found ${JSON.stringify(values.port)}`)
  }
  return { config, port, cors: values.cors ?? [], seed: values.seed, help: values.help ?? false }
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        port: { type: 'string' },
        cors: { type: 'string', multiple: true },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (thrown) {
    throw new UsageError(thrown instanceof Error ? thrown.message : 'the arguments cannot be read')
  }
}
