import { expect } from 'vitest'
import type { Caller, createCollectionService } from '../../src/index.js'
import fc from './fast-check.js'
import { createTestService } from './service.js'

type Json = { readonly [name: string]: unknown }

const NAMES = ['zebra', 'quagga', 'okapi', 'gnu_like']
const SUBJECTS = ['*', 'user', 'owner', 'editor', 'admin']

const tidy = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined))

const rule = fc
  .record({
    pick: fc.option(fc.subarray(NAMES), { nil: undefined, freq: 4 }),
    omit: fc.option(fc.subarray(NAMES), { nil: undefined, freq: 2 }),
  })
  .map(tidy)

const given = fc.option(
  fc.oneof(
    { weight: 3, arbitrary: rule },
    { weight: 1, arbitrary: fc.array(rule, { minLength: 1, maxLength: 2 }) },
  ),
  { nil: undefined, freq: 2 },
)

const permissions = fc
  .record(
    Object.fromEntries(
      SUBJECTS.map((subject) => [subject, fc.record({ read: given, create: given, update: given })]),
    ),
  )
  .map(
    (granted): Json =>
      Object.fromEntries(
        Object.entries(granted).map(([subject, { create, ...rest }]) => [
          subject,
          tidy(subject === 'owner' ? rest : { create, ...rest }),
        ]),
      ),
  )

/** Who asks the same service, one after the other: what is kept for one must not be told to the next. */
const callers = fc.shuffledSubarray<Caller | null>(
  [null, { id: 'ann' }, { id: 'ann', roles: ['editor'] }, { id: 'ann', roles: ['editor', 'admin'] }],
  { minLength: 2, maxLength: 2 },
)

const isMeant = (subject: string, caller: Caller | null): boolean =>
  subject === '*' ||
  (caller !== null && (subject === 'user' || subject === 'owner' || (caller.roles ?? []).includes(subject)))

interface NamedRule {
  readonly pick?: string[]
  readonly omit?: string[]
}

/** The names that some rule of the caller's subjects lets the caller read or write. */
function namesFor(granted: Json, caller: Caller | null): ReadonlySet<string> {
  const rules = Object.entries(granted)
    .filter(([subject]) => isMeant(subject, caller))
    .flatMap(([, operations]) =>
      Object.values(operations as { [operation: string]: NamedRule | readonly NamedRule[] }).flat(),
    )
  return new Set(
    rules.flatMap(({ pick, omit = [] }) => (pick ?? NAMES).filter((name) => !omit.includes(name))),
  )
}

/** What a caller can read of a document, by the rules alone. */
const readableFor = (granted: Json, caller: Caller | null): ReadonlySet<string> =>
  namesFor(
    Object.fromEntries(
      Object.entries(granted).map(([subject, operations]) => [
        subject,
        tidy({ read: (operations as Json).read }),
      ]),
    ),
    caller,
  )

/**
 * What a service describes to a caller does not depend on its documents, names nothing that the caller can neither
 * read nor write, and names all that the caller can read. Throws on a counterexample.
 */
export async function checkDescriptions(
  runs: number,
  create?: typeof createCollectionService,
): Promise<{ hidden: number }> {
  const seen = { hidden: 0 }
  await fc.assert(
    fc.asyncProperty(permissions, callers, async (granted, asking) => {
      const config = {
        collections: {
          things: {
            schema: Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])),
            permissions: granted,
          },
        },
      }
      const [empty, full] = [[], [{ zebra: 'a', okapi: 'b' }]].map((things) =>
        createTestService(config, {
          openapi: true,
          documents: { things },
          authenticate: () => null,
          ...(create ? { create } : {}),
        }),
      )
      for (const caller of asking) {
        const here = await empty?.send('GET /_openapi.json', { caller })
        expect(here?.status).toBe(200)
        expect((await full?.send('GET /_openapi.json', { caller }))?.text).toBe(here?.text)
        const text = here?.text ?? ''
        const allowed = namesFor(granted, caller)
        for (const name of NAMES) {
          if (allowed.has(name)) continue
          seen.hidden += 1
          expect(text).not.toContain(name)
        }
        for (const name of readableFor(granted, caller)) expect(text).toContain(`q[${name}][$eq]`)
      }
    }),
    { numRuns: runs, endOnFailure: true },
  )
  return seen
}
