import type { Arguments, ExplainArguments, InsightArguments } from './arguments.js'
import { FORMATS, type InsightWord } from './options.js'
import { checkText, type OptionValues, readConfig, readHooks, readStorage } from './read-options.js'
import { UsageError } from './usage-error.js'

type InsightLine = Extract<Arguments, { readonly word: InsightWord }>

/** Reads the arguments of an insight command. Throws `UsageError`. */
export function readInsight(word: InsightWord, names: readonly string[], options: OptionValues): InsightLine {
  const common: InsightArguments = {
    format: FORMATS.find((format) => format === options.format[0]) ?? 'text',
    authenticate: options.authenticate.length > 0,
    production: options.production.length > 0,
    ...readHooks(options),
  }
  const caller = options.caller[0]
  switch (word) {
    case 'check': {
      const storage = readStorage(options)
      return { word, ...common, config: readConfig(names), ...(storage ? { storage } : {}) }
    }
    case 'matrix':
      return { word, ...common, config: readConfig(names) }
    case 'diff':
      return { word, ...common, ...readPair(names), failsOnWidening: options['fail-on'].length > 0 }
    case 'explain':
      return { word, ...common, ...readRequest(names), ...readSent(options), caller }
    case 'openapi':
      return { word, ...common, config: readConfig(names), caller }
    default:
      return word satisfies never
  }
}

function readPair([before, after, ...others]: readonly string[]): {
  readonly before: string
  readonly after: string
} {
  if (before === undefined || after === undefined || others.length > 0)
    throw new UsageError('diff needs two configurations: the one before, and the one after')
  checkText(before, 'the name of the configuration before')
  checkText(after, 'the name of the configuration after')
  return { before, after }
}

function readRequest([method, path, ...others]: readonly string[]): Pick<
  ExplainArguments,
  'method' | 'path' | 'config'
> {
  if (method === undefined || path === undefined)
    throw new UsageError('explain needs a method and a path: GET /articles')
  if (!/^[A-Z]+$/i.test(method))
    throw new UsageError(`a method is a word such as GET, found ${JSON.stringify(method)}`)
  if (!path.startsWith('/')) throw new UsageError(`a path begins with a slash, found ${JSON.stringify(path)}`)
  return { method: method.toUpperCase(), path, config: readConfig(others) }
}

const readSent = ({
  body,
  header,
  seed,
  now,
}: OptionValues): Pick<ExplainArguments, 'body' | 'headers' | 'seed' | 'now'> => ({
  body: body[0],
  headers: header,
  seed: seed[0],
  now: now[0],
})
