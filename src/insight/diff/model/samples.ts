import type { Field } from '../../../fields/field-type.js'

/** Texts that a field takes, where its format, its pattern or its length leave few. */
export function sampleText(field: Field): readonly string[] {
  const { definition } = field.items ?? field
  if (definition.type === 'reference') return [SOME_ID, OTHER_ID]
  if (definition.type !== 'string') return field.path === '_id' ? [SOME_ID, OTHER_ID] : []
  const { format, minLength = 0 } = definition
  if (format !== undefined) return FORMATS[format]
  return minLength > 1 ? ['a', 'b', 'c'].map((letter) => letter.repeat(minLength)) : []
}

const SOME_ID = '01990000-0000-7000-8000-000000000001'
const OTHER_ID = '01990000-0000-7000-8000-000000000002'

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
