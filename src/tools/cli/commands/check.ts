import { checkConfig } from '../../insight/check/check-config.js'
import { checkSeed } from '../../insight/check/check-seed.js'
import { checkData, type StoredReport } from '../../insight/check/data/check-data.js'
import { checkMigrations, type PendingMigration } from '../../insight/check/data/pending-steps.js'
import type { Finding } from '../../insight/check/finding.js'
import {
  isSuited,
  printFindings,
  printFindingsAsMarkdown,
  printMigrations,
  printReports,
  printReportsAsMarkdown,
} from '../../insight/check/print-findings.js'
import type { InsightOptions } from '../../insight/options.js'
import { toJsonText } from '../../insight/text/json-text.js'
import { WIDTH, wrap } from '../../insight/text/layout.js'
import { coloured, plain } from '../../insight/text/paint.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { isModule } from '../config-name.js'
import { StorageError } from '../create-storage.js'
import { readExisting } from '../existing-storage.js'
import { readConfig, requireConfig } from '../read-config.js'
import { FileError, parseJson, readTextFile } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

/**
 * Prints the findings about a configuration, and about the stored documents if a storage is given. The exit code is 2
 * if a file or the storage cannot be read, 1 if there is an error, a warning, or a stored document that does not fit
 * the configuration, and else 0.
 */
export async function check(args: ArgumentsOf<'check'>, terminal: Terminal): Promise<number> {
  const { config, storage, seed, authenticate, production, hooks } = args
  const options = { authenticate, production, ...(hooks ? { hooks } : {}) }
  try {
    await requireConfig(config)
    // Only for text, findings have a line and a column.
    const input = isModule(config) ? await readConfig(config) : await readTextFile(config)
    const findings = checkConfig(input, options)
    const isReadable = !findings.some(({ code }) => code === 'invalid_json')
    const isSound = !findings.some(({ level }) => level === 'error')
    const { reports, migrations = [] } =
      storage && isSound
        ? await readExisting(storage, async (documents) => ({
            reports: await checkData(parse(input), documents, options),
            migrations: await checkMigrations(parse(input), documents, options),
          }))
        : {}
    const seeded = seed !== undefined && isSound ? await readSeedFindings(seed, input, options) : undefined
    for (const line of linesOf(args, terminal, { findings, reports, migrations, seeded }))
      terminal.print(line)
    if (!isReadable) return 2
    const isHarmless = [...findings, ...(seeded ?? [])].every(({ level }) => level === 'note')
    return isHarmless && migrations.length === 0 && (reports ?? []).every(isSuited) ? 0 : 1
  } catch (thrown) {
    if (!(thrown instanceof FileError) && !(thrown instanceof StorageError)) throw thrown
    terminal.complain(thrown.message)
    return 2
  }
}

const parse = (input: unknown): unknown =>
  typeof input === 'string' ? JSON.parse(input.replace(/^\ufeff/, '')) : input

/** Checks a seed file. Throws `FileError`. */
async function readSeedFindings(
  seed: string,
  input: unknown,
  options: InsightOptions,
): Promise<readonly Finding[]> {
  const text = await readTextFile(seed)
  // Only for the errors of a file that is not JSON.
  parseJson(seed, text.replace(/^\ufeff/, ''))
  return checkSeed(parse(input), text, options)
}

interface CheckResult {
  readonly findings: readonly Finding[]
  readonly reports: readonly StoredReport[] | undefined
  /** The migrations that are not finished in the storage. */
  readonly migrations: readonly PendingMigration[]
  /** The findings about the seed, if one was checked. */
  readonly seeded: readonly Finding[] | undefined
}

const linesOf = (
  { config, format, storage, seed }: ArgumentsOf<'check'>,
  { isColoured = false }: Terminal,
  { findings, reports, migrations, seeded }: CheckResult,
): readonly string[] => {
  const paint = isColoured ? coloured : plain
  const hasMisfits = migrations.length > 0 || !(reports ?? []).every(isSuited)
  /** Prints findings, but never that there are none above stored documents that do not fit. */
  const unlessMisleading = (found: readonly Finding[], lines: readonly string[]): readonly string[] =>
    found.length === 0 && hasMisfits ? [] : lines
  const unchecked = (what: string, isUnchecked: boolean): readonly string[] =>
    isUnchecked ? [`${what} not checked: correct the errors first.`] : []
  const unread = unchecked('The stored documents were', storage !== undefined && !reports)
  const unseeded = unchecked('The seed was', seed !== undefined && !seeded)
  switch (format) {
    case 'json':
      return [
        toJsonText(
          {
            findings,
            ...(seeded ? { seed: seeded } : {}),
            ...(reports ? { documents: reports, migrations } : {}),
          },
          2,
        ),
      ]
    case 'markdown':
      return join(
        unlessMisleading(findings, printFindingsAsMarkdown(findings, config)),
        seeded ? unlessMisleading(seeded, printFindingsAsMarkdown(seeded, seed ?? '')) : unseeded,
        reports ? printReportsAsMarkdown(reports) : unread,
        printMigrations(migrations).map((line) => `- ${line}`),
      )
    case 'text':
      return join(
        unlessMisleading(findings, printFindings(findings, config, paint)),
        seeded ? unlessMisleading(seeded, printFindings(seeded, seed ?? '', paint)) : unseeded,
        reports ? printReports(reports, paint) : unread,
        printMigrations(migrations).flatMap((line) => wrap(line, WIDTH)),
      )
    default:
      return format satisfies never
  }
}

/** Joins the parts of the output that are not empty, separated by empty lines. */
const join = (...parts: readonly (readonly string[])[]): readonly string[] =>
  parts.filter((part) => part.length > 0).flatMap((part, i) => (i === 0 ? part : ['', ...part]))
