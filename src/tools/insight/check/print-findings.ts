import { toPrintable } from '../../../core/start/printable.js'
import { describeLeft, describeMisfit, listIds } from '../../../core/stored/describe.js'
import { layOut, layOutMarkdown, WIDTH, wrap } from '../text/layout.js'
import { toCode } from '../text/markdown.js'
import type { Colour, Paint } from '../text/paint.js'
import type { Level } from './codes.js'
import type { StoredReport } from './data/check-data.js'
import type { PendingMigration, PendingStep } from './data/pending-steps.js'
import type { StoredCount } from './data/stored-documents.js'
import type { Finding } from './finding.js'

const COLOURS: { readonly [level in Level]: Colour } = { error: 'red', warning: 'yellow', note: 'cyan' }

const placeOf = (file: string, { line, column }: Finding): string =>
  line === undefined ? file : `${file}:${line}:${column}`

const indent = (text: string): readonly string[] =>
  wrap(toPrintable(text), WIDTH - 2).map((line) => `  ${line}`)

/** Prints findings for people, each with its location in a file. */
export function printFindings(findings: readonly Finding[], file: string, paint: Paint): readonly string[] {
  if (findings.length === 0) return [`${file}: no findings.`]
  return [
    ...findings.flatMap((finding) => [
      `${paint(COLOURS[finding.level], finding.level)}  ${paint('bold', finding.code)}  ${placeOf(file, finding)}`,
      `  ${toPrintable(finding.pointer || '/')}`,
      ...indent(finding.message),
      ...indent(finding.mend).map((line) => paint('dim', line)),
      '',
    ]),
    countLevels(findings),
  ]
}

const LEVELS: readonly Level[] = ['error', 'warning', 'note']

function countLevels(findings: readonly Finding[]): string {
  const counts = LEVELS.map((level) => [level, findings.filter((one) => one.level === level).length] as const)
  return counts
    .flatMap(([level, count]) => (count > 0 ? `${count} ${level}${count > 1 ? 's' : ''}` : []))
    .join(', ')
}

/** Prints findings as a Markdown table. */
export function printFindingsAsMarkdown(findings: readonly Finding[], file: string): readonly string[] {
  if (findings.length === 0) return [`${file}: no findings.`]
  return layOutMarkdown(
    ['Level', 'Code', 'Place', 'Finding'],
    findings.map((finding) => [
      finding.level,
      `\`${finding.code}\``,
      `${placeOf(file, finding)} ${toCode(finding.pointer || '/')}`,
      toPrintable(`${finding.message}. ${finding.mend}`),
    ]),
  )
}

const HEAD = ['Collection', 'Documents', 'Invalid', 'Cut', 'Unreadable', 'Not unique']

const countTwins = ({ notUnique }: StoredReport): string =>
  notUnique
    .map(({ fields, count, isLeast }) => `${isLeast ? '≥ ' : ''}${count} (${fields.join(', ')})`)
    .join(', ') || '0'

const rowOf = (report: StoredReport): readonly string[] => [
  report.collection,
  ...[report.documents, report.invalid.count, report.cut.count, report.unreadable.count].map(String),
  countTwins(report),
]

const MIGRATE = 'run collection-service migrate'

const KINDS: { readonly [kind in PendingStep['kind']]: string } = {
  fill: 'needs its value of fill',
  form: 'needs its normal form',
}

/** Returns a line for each migration that is not finished. */
export const printMigrations = (migrations: readonly PendingMigration[]): readonly string[] =>
  migrations.map(({ name, failed }) => {
    const tried = failed.count === 0 ? '' : `; it failed for ${failed.count}: ${listIds(failed)}`
    return `The migration ${name} is not finished${tried}: ${MIGRATE} --migrations FOLDER`
  })

/** Returns a line for each kind of affected documents in a collection, with the first ids, and for each left index. */
const describeAffected = (report: StoredReport): readonly string[] => {
  const { collection, steps, unfixed, unreadable, notUnique, leftUnique } = report
  const named: readonly (readonly [string, StoredCount])[] = [
    ...steps.map((step) => [`${step.field} ${KINDS[step.kind]}: ${MIGRATE}`, step] as const),
    ...unfixed.map((misfit) => [describeMisfit(misfit), misfit] as const),
    ['unreadable', unreadable],
    ...notUnique.map((twins) => [`not unique (${twins.fields.join(', ')})`, twins] as const),
  ]
  const lines = named.flatMap(([what, found]) =>
    found.count > 0 ? [`${what}; in ${found.count}: ${listIds(found)}`] : [],
  )
  return [...lines, ...leftUnique.map(describeLeft)].map((line) => toPrintable(`${collection}: ${line}`))
}

/** Prints reports on stored documents for people. */
export const printReports = (reports: readonly StoredReport[], paint: Paint): readonly string[] => {
  const [head = '', ...rows] = layOut([HEAD, ...reports.map(rowOf)])
  const lines = reports.flatMap(describeAffected).flatMap((line) => wrap(line, WIDTH))
  return [paint('bold', head), ...rows, ...(lines.length > 0 ? ['', ...lines] : [])]
}

/** Prints reports on stored documents as a Markdown table. */
export const printReportsAsMarkdown = (reports: readonly StoredReport[]): readonly string[] => {
  const lines = reports.flatMap(describeAffected).map((line) => `- ${line}`)
  return [...layOutMarkdown(HEAD, reports.map(rowOf)), ...(lines.length > 0 ? ['', ...lines] : [])]
}

/** Whether all documents of a collection fit the configuration, and no step or index of another one is left. */
export const isSuited = ({ invalid, cut, steps, unreadable, notUnique, leftUnique }: StoredReport): boolean =>
  invalid.count + cut.count + steps.length + unreadable.count + notUnique.length + leftUnique.length === 0
