import { isServiceError } from '../../../core/errors.js'
import { explainRequest } from '../../insight/explain/explain-request.js'
import type { ExplainedRequest, Explanation } from '../../insight/explain/explanation.js'
import { printExplanation, printExplanationMarkdown } from '../../insight/explain/print/print-explanation.js'
import { toJsonText } from '../../insight/text/json-text.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { UsageError } from '../arguments/options.js'
import { readCaller } from '../read-caller.js'
import { readConfig } from '../read-config.js'
import { readJsonFile, readTextFile } from '../read-json-file.js'
import { explainSeed } from '../start-service.js'
import { type Terminal, textFor } from '../terminal.js'

/**
 * Prints why a request gets its answer. Throws `FileError`, `ConfigError`, `UsageError` for a request that cannot be
 * explained, and `SeedError` for documents that cannot be stored.
 */
export async function explain(args: ArgumentsOf<'explain'>, terminal: Terminal): Promise<void> {
  const { config, authenticate, production } = args
  const request = await readRequest(args)
  const explanation = await explainRequest(await readConfig(config), request, {
    authenticate,
    production,
  }).catch(explainFault)
  terminal.print(printAs(args, explanation, terminal))
}

async function readRequest(args: ArgumentsOf<'explain'>): Promise<ExplainedRequest> {
  const { method, path, caller, body, headers, seed, now } = args
  return {
    method,
    path,
    headers: joinHeaders(headers),
    caller: caller === undefined ? null : await readCaller(caller),
    ...(body === undefined ? {} : { body: isFile(body) ? await readTextFile(body) : body }),
    // `explainRequest` validates the documents, so the type is only assumed here.
    ...(seed === undefined
      ? {}
      : { documents: (await readJsonFile(seed)) as ExplainedRequest['documents'] & {} }),
    ...(now === undefined ? {} : { now }),
  }
}

const isFile = (body: string): boolean => body.endsWith('.json')

/** Joins the headers by name. The values of a repeated header become one list, as in a Node server. */
function joinHeaders(headers: readonly string[]): { readonly [name: string]: string } {
  const joined = new Map<string, string>()
  for (const header of headers) {
    const colon = header.indexOf(':')
    const name = header.slice(0, colon).toLowerCase()
    const value = header.slice(colon + 1).trim()
    const before = joined.get(name)
    joined.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(joined)
}

/**
 * Throws a `UsageError` for a request that cannot be sent, a `SeedError` for documents that cannot be stored, and any
 * other error again.
 */
function explainFault(thrown: unknown): never {
  if (thrown instanceof TypeError) throw new UsageError(thrown.message)
  if (isServiceError(thrown)) explainSeed(thrown)
  throw thrown
}

function printAs({ format }: ArgumentsOf<'explain'>, explanation: Explanation, terminal: Terminal): string {
  switch (format) {
    case 'text':
      return printExplanation(explanation, textFor(terminal))
    case 'markdown':
      return printExplanationMarkdown(explanation)
    case 'json':
      return toJsonText(explanation, 2)
    default:
      return format satisfies never
  }
}
