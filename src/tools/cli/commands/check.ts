import { checkConfig } from '../../insight/check/check-config.js'
import { checkData, type StoredReport } from '../../insight/check/data/check-data.js'
import type { Finding } from '../../insight/check/finding.js'
import {
  isSuited,
  printFindings,
  printFindingsAsMarkdown,
  printReports,
  printReportsAsMarkdown,
} from '../../insight/check/print-findings.js'
import { toJsonText } from '../../insight/text/json-text.js'
import { coloured, plain } from '../../insight/text/paint.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { isModule } from '../config-name.js'
import { StorageError } from '../create-storage.js'
import { readExisting } from '../existing-storage.js'
import { readConfig, requireConfig } from '../read-config.js'
import { FileError, readTextFile } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

/**
 * Prints the findings about a configuration, and about the stored documents if a storage is given. The exit code is 2
 * if a file or the storage cannot be read, 1 if there is an error, a warning, or a stored document that does not fit
 * the configuration, and else 0.
 */
export async function check(args: ArgumentsOf<'check'>, terminal: Terminal): Promise<number> {
  const { config, storage, authenticate, production, hooks } = args
  const options = { authenticate, production, ...(hooks ? { hooks } : {}) }
  try {
    await requireConfig(config)
    // Only for text, findings have a line and a column.
    const input = isModule(config) ? await readConfig(config) : await readTextFile(config)
    const findings = checkConfig(input, options)
    const isReadable = !findings.some(({ code }) => code === 'invalid_json')
    const isSound = !findings.some(({ level }) => level === 'error')
    const reports =
      storage && isSound
        ? await readExisting(storage, (documents) => checkData(parse(input), documents, options))
        : undefined
    for (const line of linesOf(args, terminal, { findings, reports })) terminal.print(line)
    if (!isReadable) return 2
    return findings.every(({ level }) => level === 'note') && (reports ?? []).every(isSuited) ? 0 : 1
  } catch (thrown) {
    if (!(thrown instanceof FileError) && !(thrown instanceof StorageError)) throw thrown
    terminal.complain(thrown.message)
    return 2
  }
}

const parse = (input: unknown): unknown =>
  typeof input === 'string' ? JSON.parse(input.replace(/^\ufeff/, '')) : input

interface CheckResult {
  readonly findings: readonly Finding[]
  readonly reports: readonly StoredReport[] | undefined
}

const linesOf = (
  { config, format, storage }: ArgumentsOf<'check'>,
  { isColoured = false }: Terminal,
  { findings, reports }: CheckResult,
): readonly string[] => {
  const paint = isColoured ? coloured : plain
  const unread =
    storage && !reports ? ['The stored documents were not checked: correct the errors first.'] : []
  switch (format) {
    case 'json':
      return [toJsonText({ findings, ...(reports ? { documents: reports } : {}) }, 2)]
    case 'markdown':
      return join(
        printFindingsAsMarkdown(findings, config),
        reports ? printReportsAsMarkdown(reports) : unread,
      )
    case 'text':
      return join(printFindings(findings, config, paint), reports ? printReports(reports, paint) : unread)
    default:
      return format satisfies never
  }
}

/** Joins two parts of the output, separated by an empty line. */
const join = (first: readonly string[], second: readonly string[]): readonly string[] =>
  second.length > 0 ? [...first, '', ...second] : first
