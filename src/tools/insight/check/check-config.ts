import type { FindingReport } from '../../../core/config/finder.js'
import { isSilencing, readSilences } from '../../../core/config/silences.js'
import { ConfigError } from '../../../core/errors.js'
import { findTextFault, locatePointers } from '../../../core/json/json-text.js'
import { isObject } from '../../../core/json/own-properties.js'
import { toPointerPart } from '../../../core/json/pointer.js'
import { createReport } from '../../../core/json/report.js'
import { requireOptions } from '../../../core/options.js'
import { compileForInsight } from '../compile.js'
import { INSIGHT_OPTIONS, type InsightOptions } from '../options.js'
import { CODES, type FindingCode, isSought, type Level } from './codes.js'
import type { Finding } from './finding.js'
import { FINDERS } from './findings/all.js'
import { PRODUCTION_FINDERS } from './findings/production.js'
import { createScope } from './scope.js'

/**
 * Finds errors and likely mistakes in a configuration (CONTRACT.md §8, "Check"). Throws `ConfigError` only for wrong
 * options. Opens no storage. Findings are sorted by their position in the configuration, then by level. Only the errors
 * of an invalid object are in the order in which they were found. The top-level `$ignore` leaves out the findings that
 * it lists, but no errors.
 *
 * @param config the configuration as a value, or as JSON text. Only for text, each finding has a line and a column.
 *
 * @example
 * ```ts
 * const findings = checkConfig({ collections: { notes: { schema: {}, permissions: { '*': true } } } })
 * findings.map(({ code, pointer }) => `${code} ${pointer}`)
 * // ['open_to_everyone /collections/notes/permissions/*', 'public_list /collections/notes/permissions/*']
 * ```
 */
export function checkConfig(config: unknown, options: InsightOptions = {}): readonly Finding[] {
  requireOptions(options, INSIGHT_OPTIONS)
  if (typeof config !== 'string') return findAll(config, options)
  const text = config.replace(/^\ufeff/, '')
  const fault = findTextFault(text)
  if (fault) {
    const { message, line = 1, column = 1 } = fault
    return [{ ...create('invalid_json', '', `the text is not JSON: ${message}`), line, column }]
  }
  const value: unknown = JSON.parse(text)
  const locate = locatePointers(text)
  return sort(findAll(value, options), value).map((finding) => ({ ...finding, ...locate(finding.pointer) }))
}

const create = (
  code: FindingCode,
  pointer: string,
  message: string,
  mend: string = CODES[code].mend,
): Finding => ({ code, level: CODES[code].level, pointer, message, mend })

function findAll(config: unknown, options: InsightOptions): readonly Finding[] {
  const findings: Finding[] = []
  try {
    const plan = compileForInsight(config, options)
    const scope = createScope(options, plan, (code, pointer) =>
      findings.some((one) => one.code === code && one.pointer === pointer),
    )
    const report: FindingReport<FindingCode> = createReport(
      (pointer, code, message, mend) => findings.push(create(code, pointer, message, mend)) > 0,
    )
    for (const find of options.production ? [...FINDERS, ...PRODUCTION_FINDERS] : FINDERS) find(scope, report)
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    // Errors in the options, such as hooks, are thrown only if the configuration itself is valid.
    if (thrown.faults.every(({ path }) => path.startsWith('options.'))) throw thrown
    // The checks need a compiled plan, which an invalid configuration does not have. So only its errors are returned.
    return thrown.faults
      .filter(({ path }) => !path.startsWith('options.'))
      .map(({ path, message }) => create('invalid_config', path, message))
  }
  const silences = readSilences(config)
  const unused = silences.flatMap((silence, i) =>
    findings.some(({ code, pointer }) => isSilencing(silence, code, pointer)) ||
    !isSought(silence.split(' ', 1)[0] ?? '', options.production ?? false)
      ? []
      : [create('unused_ignore', `/$ignore/${i}`, 'there is no such finding, so this line has no effect')],
  )
  const heard = findings.filter(
    ({ code, pointer }) => !silences.some((silence) => isSilencing(silence, code, pointer)),
  )
  return sort([...heard, ...unused], config)
}

const LEVELS: readonly Level[] = ['error', 'warning', 'note']

function sort(findings: readonly Finding[], config: unknown): readonly Finding[] {
  const order = new Map(listPointers(config).map((pointer, i) => [pointer, i]))
  const placeOf = ({ pointer }: Finding): number => {
    for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const place = order.get(at)
      if (place !== undefined) return place
    }
    return -1
  }
  return [...findings].sort(
    (a, b) => placeOf(a) - placeOf(b) || LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level),
  )
}

/** Returns the JSON pointers of all parts of a value, in the order of the value. */
function listPointers(value: unknown, at = ''): readonly string[] {
  const inner = Array.isArray(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : []
  return inner.flatMap(([name, one]) => {
    const pointer = at + toPointerPart(name)
    return [pointer, ...listPointers(one, pointer)]
  })
}
