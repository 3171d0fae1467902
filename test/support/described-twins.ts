import { expect } from 'vitest'
import type { Caller, createCollectionService } from '../../src/index.js'
import fc from './fast-check.js'
import { createTestService } from './service.js'

type Json = { readonly [name: string]: unknown }

const NAMES = ['zebra', 'quagga', 'okapi', 'gnu_like', 'extra']
const SUBJECTS = ['*', 'user', 'owner', 'editor', 'admin']

/** Two spellings of whatever a reader may not know. */
const OTHERS: { readonly [name: string]: string } = {
  zebra: 'yak',
  quagga: 'wombat',
  okapi: 'emu',
  gnu_like: 'numbat',
  extra: 'more',
  dens: 'lairs',
  admin: 'chief',
  editor: 'scribe',
}

const definition = fc.constantFrom<Json>(
  { type: 'string', enum: ['lion', 'tiger'], default: 'lion', description: 'About cats.' },
  { type: 'string', maxLength: 77, pattern: '^lynx', index: true },
  { type: 'string', format: 'email', unique: true, immutable: true },
  { type: 'integer', minimum: 17, maximum: 4711, nullable: true },
  { type: 'number', enum: [0.5, 1.5] },
  { type: 'boolean', default: true },
  { type: 'timestamp', default: '$now', minimum: '2020-01-01' },
  { type: 'json', default: ['lion'] },
  { type: 'hash', minLength: 13 },
  { type: 'reference', collection: 'dens', onDelete: 'unset' },
  { type: 'array', items: { type: 'string', enum: ['puma'] }, maxItems: 13 },
  { type: 'array', items: { type: 'reference', collection: 'dens' }, description: 'About dens.' },
  { type: 'object', properties: { lion: { type: 'string', immutable: true, default: 'lion' } } },
  { type: 'object', properties: { den: { type: 'reference', collection: 'dens', description: 'A den.' } } },
)

const tidy = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined))

const some = fc.option(fc.subarray(NAMES), { nil: undefined, freq: 3 })
const rule = fc.record({ pick: some, omit: some }).map(tidy)
/** Of documents that are told apart by a field, perhaps a hidden one. */
const conditional = fc
  .tuple(rule, fc.option(fc.constantFrom(...NAMES.slice(0, 4)), { nil: undefined }))
  .map(([own, name]) => (name === undefined ? own : { ...own, where: { [name]: { $exists: true } } }))
const perhaps = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const severalOf = (one: fc.Arbitrary<Json>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 3, arbitrary: one },
    { weight: 1, arbitrary: fc.array(one, { minLength: 1, maxLength: 2 }) },
  )

const grants = fc.record(
  Object.fromEntries(
    SUBJECTS.map((subject) => [
      subject,
      fc
        .record({
          read: perhaps(severalOf(conditional)),
          update: perhaps(severalOf(conditional)),
          delete: perhaps(fc.boolean()),
          ...(subject === 'owner' ? {} : { create: perhaps(severalOf(rule)) }),
        })
        .map(tidy),
    ]),
  ),
)

interface Things {
  readonly fields: readonly Json[]
  readonly granted: { readonly [subject: string]: Json }
  /** Who may read `dens`. */
  readonly inDens: readonly string[]
  readonly additionalProperties: boolean
}

const things: fc.Arbitrary<Things> = fc.record({
  fields: fc.tuple(...NAMES.slice(0, 4).map(() => definition)),
  granted: grants as fc.Arbitrary<{ [subject: string]: Json }>,
  inDens: fc.subarray(SUBJECTS, { maxLength: 2 }),
  additionalProperties: fc.boolean(),
})

const CALLERS: readonly (Caller | null)[] = [
  null,
  { id: 'ann' },
  { id: 'ann', roles: ['editor'] },
  { id: 'ann', roles: ['admin', 'editor'] },
]

const isMeant = (caller: Caller | null) => (subject: string) =>
  subject === '*' ||
  (caller !== null && (['user', 'owner'].includes(subject) || (caller.roles ?? []).includes(subject)))

/** All that a caller may know: the fields that some rule of the caller's subjects shows or takes, subjects, collections. */
function knownTo({ granted, inDens }: Things, caller: Caller | null): ReadonlySet<string> {
  const subjects = SUBJECTS.filter(isMeant(caller))
  const rules = subjects.flatMap((subject) =>
    Object.values(granted[subject] ?? {})
      .flat()
      .filter((one) => typeof one === 'object'),
  ) as readonly { pick?: string[]; omit?: string[] }[]
  const fields = rules.flatMap(({ pick = NAMES, omit = [] }) => pick.filter((name) => !omit.includes(name)))
  return new Set([...fields, ...subjects, ...(inDens.some((one) => subjects.includes(one)) ? ['dens'] : [])])
}

/** A configuration of `things`, with other names, and other fields, where the reader may not know them. */
function configOf(
  { fields, granted, inDens, additionalProperties }: Things,
  nameOf: (name: string) => string,
): Json {
  const known = additionalProperties ? NAMES : NAMES.slice(0, 4)
  const renamed = (value: unknown): unknown => {
    if (Array.isArray(value))
      return value.flatMap((one) =>
        typeof one === 'object' ? [renamed(one)] : known.includes(one) ? nameOf(one) : [],
      )
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        NAMES.includes(key) || SUBJECTS.includes(key) ? nameOf(key) : key,
        renamed(inner),
      ]),
    )
  }
  const isHash = (name: unknown): boolean =>
    NAMES.some((one, i) => nameOf(one) === name && fields[i]?.type === 'hash')
  /** Hashes are neither shown nor compared. */
  const withoutHashes = (operation: string, { pick, where, ...rest }: Json): Json =>
    tidy({
      ...rest,
      pick: operation === 'read' && Array.isArray(pick) ? pick.filter((name) => !isHash(name)) : pick,
      where: Object.keys((where ?? {}) as Json).some(isHash) ? undefined : where,
    })
  const permissions = Object.entries(renamed(granted) as { [subject: string]: Json }).map(
    ([subject, rules]) => [
      subject,
      Object.fromEntries(
        Object.entries(rules).map(([operation, own]) => [
          operation,
          Array.isArray(own)
            ? own.map((one) => withoutHashes(operation, one as Json))
            : typeof own === 'object'
              ? withoutHashes(operation, own as Json)
              : own,
        ]),
      ),
    ],
  )
  const den = nameOf('dens')
  const isOther = den !== 'dens'
  return {
    collections: {
      things: {
        schema: Object.fromEntries(
          NAMES.slice(0, 4).map((name, i) => [
            nameOf(name),
            JSON.parse(JSON.stringify(fields[i]).replaceAll('"dens"', JSON.stringify(den))),
          ]),
        ),
        permissions: Object.fromEntries(permissions),
        additionalProperties,
      },
      [den]: {
        schema: isOther
          ? { depth: { type: 'number', minimum: 3 } }
          : { lion: { type: 'string', enum: ['a lion'] } },
        permissions: Object.fromEntries(inDens.map((one) => [nameOf(one), { read: true }])),
        ...(isOther ? { changes: true } : {}),
      },
    },
  }
}

/**
 * Two services that differ only in what a caller may not know (fields that the caller can neither read nor write, with
 * all that is said of them, collections and roles) describe themselves to the caller in the same bytes, with the same
 * headers. Throws on a counterexample.
 */
export async function checkTwins(
  runs: number,
  create?: typeof createCollectionService,
): Promise<{ different: number }> {
  const seen = { different: 0 }
  await fc.assert(
    fc.asyncProperty(
      things,
      fc.tuple(...NAMES.slice(0, 4).map(() => definition)),
      fc.constantFrom(...CALLERS),
      async (one, fields, caller) => {
        const known = knownTo(one, caller)
        // Whether there is a hash at all is told by the route of bulk creates, which is there or not.
        const isKept = ([own, other]: readonly Json[], name = ''): boolean =>
          known.has(name) || own?.type === 'hash' || other?.type === 'hash'
        const other = {
          ...one,
          fields: one.fields.map((own, i) => {
            const another = fields[i] ?? own
            return isKept([own, another], NAMES[i]) ? own : another
          }),
        }
        const configs = [
          configOf(one, (name) => name),
          configOf(other, (name) => (known.has(name) ? name : (OTHERS[name] ?? name))),
        ]
        if (JSON.stringify(configs[0]) !== JSON.stringify(configs[1])) seen.different += 1
        const [here, there] = await Promise.all(
          configs.map(async (config) => {
            const service = createTestService(config, {
              openapi: true,
              authenticate: () => caller,
              ...(create ? { create } : {}),
            })
            const answers = [
              await service.send('GET /_openapi.json'),
              await service.send('HEAD /_openapi.json'),
              await service.send('GET /_openapi.json', { headers: { 'if-none-match': '"x"' } }),
            ]
            return answers.map(({ status, headers, text, body }) => ({
              status,
              headers: [...headers],
              text,
              body,
            }))
          }),
        )
        // Where they differ is seen more easily in what was parsed.
        expect(there?.[0]?.body).toEqual(here?.[0]?.body)
        expect(there).toEqual(here)
        expect(here?.[0]?.status).toBe(200)
      },
    ),
    { numRuns: runs, endOnFailure: true },
  )
  return seen
}
