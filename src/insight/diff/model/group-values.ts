import type { Field } from '../../../fields/field-type.js'
import type { ComparableType, Scalar } from '../../../filter/filter.js'
import { findCandidates } from '../solver/candidates.js'
import { findTexts } from '../solver/texts.js'
import type { Comparisons } from './compared.js'

/** The values that the rules tell apart. */
export interface CandidateValues {
  /** The values of a type that the group of a key tells apart. */
  ofType(key: string, type: ComparableType): readonly Scalar[]
  /** The types of the fields in the group of a key. */
  typesOf(key: string): readonly ComparableType[]
  isWhole(): boolean
}

/** The most values of one group that may have to differ. */
const MAX_COUNT = 6

/** Finds the values of each group once, when they are first requested. */
export function createCandidates(
  comparisons: Comparisons,
  fields: ReadonlyMap<string, Field>,
): CandidateValues {
  const known = new Map<unknown, Map<ComparableType, readonly Scalar[]>>()
  let isWhole = true
  return {
    ofType(key, type) {
      const group = comparisons.groupOf(key)
      const kept = known.get(group) ?? new Map<ComparableType, readonly Scalar[]>()
      known.set(group, kept)
      const found = kept.get(type)
      if (found) return found
      const keys = [...group.keys]
      const members = keys.map((one) => fields.get(one.replace(/^stored\./, '')))
      const count = Math.min(
        MAX_COUNT,
        members.reduce((sum, field) => sum + (field?.items ? 3 : 2), 0),
      )
      const samples = members.flatMap((field) => (field && type === 'string' ? sampleText(field) : []))
      const named = [...group.named, ...samples, ...varied([...group.named, ...samples], members)]
      const values = [...findCandidates({ type, named, count })]
      if (type === 'string' && group.patterns.size > 0) {
        const ordered = named.filter((value) => typeof value === 'string')
        const texts = findTexts([...group.patterns.values()], ordered, count)
        isWhole &&= texts.isWhole
        values.push(...texts.texts.filter((text) => !values.includes(text)))
      }
      kept.set(type, values)
      return values
    },
    typesOf: (key) => {
      const members = [...comparisons.groupOf(key).keys].map((one) =>
        fields.get(one.replace(/^stored\./, '')),
      )
      const types = members.flatMap((field): ComparableType[] => {
        const { fieldType } = field?.items ?? field ?? {}
        return fieldType?.isScalar ? [fieldType.valueType] : []
      })
      return [...new Set(types)]
    },
    isWhole: () => isWhole,
  }
}

/** Texts that a field stores as one of the named values: in capitals, and with a space. */
function varied(named: readonly Scalar[], fields: readonly (Field | undefined)[]): readonly string[] {
  const texts = named.filter((value) => typeof value === 'string')
  const definitions = fields.flatMap((field) => (field?.items ?? field)?.definition ?? [])
  const has = (attribute: 'lowercase' | 'trim'): boolean =>
    definitions.some((one) => one.type === 'string' && one[attribute])
  return [
    ...(has('lowercase') ? texts.map((one) => one.toUpperCase()) : []),
    ...(has('trim') ? texts.map((one) => ` ${one}`) : []),
  ]
}

/** Texts that a field accepts, if its format, pattern or length allow few. */
function sampleText(field: Field): readonly string[] {
  const { definition } = field.items ?? field
  if (definition.type === 'reference' || IDS.includes(field.path)) return [SOME_ID, OTHER_ID, LAST_ID]
  if (definition.type !== 'string') return []
  const { format, minLength = 0 } = definition
  if (format !== undefined) return FORMATS[format]
  return minLength > 1 ? ['a', 'b', 'c'].map((letter) => letter.repeat(minLength)) : []
}

/** System fields that hold an `_id`. */
const IDS: readonly string[] = ['_id', 'createdBy']

const SOME_ID = '01990000-0000-7000-8000-000000000001'
const OTHER_ID = '01990000-0000-7000-8000-000000000002'
/** Greater than most ids that rules compare with. */
const LAST_ID = 'ffffffff-ffff-7fff-bfff-ffffffffffff'

const FORMATS = {
  email: ['ann@example.com', 'bob@example.com', 'eve@example.com'],
  uri: ['https://a.example', 'https://b.example', 'https://c.example'],
  uuid: [SOME_ID, OTHER_ID, '01990000-0000-7000-8000-000000000003'],
  date: ['2026-01-01', '2026-01-02', '2026-01-03'],
  time: ['10:00:00Z', '11:00:00Z', '12:00:00Z'],
  ipv4: ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
  ipv6: ['2001:db8::1', '2001:db8::2', '2001:db8::3'],
  hostname: ['a.example', 'b.example', 'c.example'],
} as const
