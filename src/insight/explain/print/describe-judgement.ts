import type { TreeLine } from '../../text/tree-line.js'
import type { DroppedProperty, JudgedRule, Judgement, RuleVerdict } from '../explanation.js'
import { describeCondition } from './describe-condition.js'

/** Each verdict in words, for reading and for writing. */
const WORDS: { readonly [verdict in RuleVerdict]: readonly [reading: string, writing: string] } = {
  granted: ['shows it', 'runs'],
  silent: ['has no rule', 'has no rule'],
  refused: ['denies it', 'denies it'],
  outranked: ['does not count', 'does not count: a more specific subject decides'],
  where: ['not for this document', 'not for this document'],
  set: ['cannot set a value', 'cannot set a value'],
  faults: ['finds validation errors', 'finds validation errors'],
  check: ['not for such a document', 'not for such a document'],
  'granted-before': ['not needed', 'not needed: another rule ran'],
  open: ['grants it', 'grants it'],
}

const MARKS: { readonly [verdict in RuleVerdict]?: boolean } = {
  granted: true,
  open: true,
  where: false,
  set: false,
  faults: false,
  check: false,
  refused: false,
}

/** A decision, as lines of a tree. */
export function describeJudgement(judgement: Judgement): readonly TreeLine[] {
  const { operation, collection, place, document, isGranted, rules } = judgement
  const silent = rules.filter(({ verdict }) => verdict === 'silent').map(({ subject }) => subject)
  const where = place === '' ? '' : `, at ${place}`
  const what = document === null ? collection : `${collection}/${document}`
  return [
    {
      depth: 0,
      isGood: isGranted,
      text: `${operation} ${what}${where}: ${isGranted ? 'granted' : 'denied'}`,
    },
    ...rules
      .filter(({ verdict }) => verdict !== 'silent')
      .flatMap((rule) => describeRule(rule, operation === 'read')),
    ...(silent.length > 0
      ? [{ depth: 1, text: `${silent.join(', ')}: ${silent.length > 1 ? 'have' : 'has'} no rule` }]
      : []),
  ]
}

function describeRule(rule: JudgedRule, isReading: boolean): readonly TreeLine[] {
  const { subject, verdict, pointer, where, check, lacking, dropped, faults } = rule
  const isGood = MARKS[verdict]
  const head = `${subject}: ${WORDS[verdict][isReading ? 0 : 1]}`
  const lines: readonly TreeLine[] = [
    ...(where ? describeCondition(where, 'is', 2) : []),
    ...lacking.map((variable) => ({
      depth: 2,
      isGood: false,
      text: `set: ${variable} has no valid value`,
    })),
    ...faults.map(({ path, message }) => ({
      depth: 2,
      isGood: false,
      text: `${path || 'the body'} ${message}`,
    })),
    ...(check ? describeCondition(check, 'would be', 2) : []),
    ...dropped.map((one) => ({ depth: 2, text: describeDropped(one, isReading), pointer: one.by })),
  ]
  return [
    { depth: 1, ...(isGood === undefined ? {} : { isGood }), text: head, pointer },
    ...lines.map((line) => ({ ...line, pointer: shorten(line.pointer, pointer) })),
  ]
}

/** A pointer without the prefix that the rule above it already shows. */
function shorten(pointer: string | null | undefined, outer: string | null): string | null {
  if (!pointer || pointer === outer) return null
  return outer !== null && pointer.startsWith(`${outer}/`) ? pointer.slice(outer.length + 1) : pointer
}

function describeDropped({ name, why }: DroppedProperty, isReading: boolean): string {
  switch (why) {
    case 'pick':
      return `${isReading ? 'hides' : 'drops'} ${name}, which it does not pick`
    case 'omit':
      return `${isReading ? 'hides' : 'drops'} ${name}, which it omits`
    case 'set':
      return `sets its own ${name}`
    case 'role':
      return `drops ${name}: only a pick that names it accepts a role`
    case 'service':
      return `drops ${name}, which the service writes itself`
    default:
      return why satisfies never
  }
}
