import { expect } from 'vitest'
import fc from './fast-check.js'
import type { Worlds } from './laws.js'
import { createTestService } from './service.js'
import { seedOf } from './tier.js'
import { type Answer, type Building, openSide, type Side } from './write-laws.js'
import {
  batchOf,
  operationOf,
  readOf,
  type Store,
  type WriteRequest,
  type WriteWorld,
  writeWorlds,
} from './write-worlds.js'

type Json = { readonly [name: string]: unknown }

/** How many batches were granted, and how many were refused. */
export interface Seen {
  granted: number
  refused: number
}

/** How many batches are sent in each world. */
const BATCHES = 6

const withBatches = (worlds: fc.Arbitrary<WriteWorld>) =>
  worlds.chain((world) =>
    fc.tuple(
      fc.constant(world),
      fc.array(
        fc.array(fc.oneof({ weight: 4, arbitrary: operationOf(world) }, { weight: 1, arbitrary: readOf() }), {
          minLength: 4,
          maxLength: 10,
        }),
        { minLength: BATCHES, maxLength: BATCHES },
      ),
    ),
  )

/** A secret cannot be set in a batch: that is the one difference. */
const withoutSecrets = (request: WriteRequest): WriteRequest => {
  const { pin: _, ...body } = request.body ?? {}
  return request.body ? { ...request, body } : request
}

/**
 * Equivalence (CONTRACT.md §2, "Batch"): a batch that is granted gives the answers and leaves the documents of its
 * operations sent one by one, if each of these is granted; one whose last operation would be refused gives its answer,
 * and leaves everything as it was. Throws on a counterexample.
 */
export async function checkBatches(
  runs: Worlds,
  building: Building = {},
  worlds = writeWorlds,
): Promise<Seen> {
  const seen: Seen = { granted: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(withBatches(worlds), async ([world, batches]) => {
      const [together, alone] = [
        await openSide(world, world.pair[0], building),
        await openSide(world, world.pair[0], building),
      ]
      for (const some of batches) {
        for (const side of [together, alone]) await side.reset()
        const before = await together.read()
        const { operations, answers } = await askInTurn(alone, some.map(withoutSecrets))
        if (operations.length === 0) continue
        const answer = await together.ask(batchOf(operations))
        const last = answers.at(-1)
        const context = { operations, before }
        if (last && last.status >= 400) {
          seen.refused += 1
          const refusal = readRefusal(last, answers.length - 1)
          const told = readRefusal(answer)
          // References are checked after everything else, which may be rejected too, or run under another rule.
          if (isUnknownReference(refusal)) {
            expect({ ...context, isRefused: answer.status >= 400 }).toEqual({ ...context, isRefused: true })
            expect({ ...context, operation: told.operation }).toEqual({
              ...context,
              operation: refusal.operation,
            })
          } else expect({ ...context, refusal: told }).toEqual({ ...context, refusal })
          expect(sorted(await together.read())).toEqual(sorted(before))
        } else {
          seen.granted += 1
          expect({ ...context, results: resultsOf(answer) }).toEqual({
            ...context,
            results: answers.map(toResult),
          })
          expect(sorted(await together.read())).toEqual(sorted(await alone.read()))
        }
      }
      await Promise.all([together.close(), alone.close()])
    }),
    {
      seed: seedOf(SEED),
      endOnFailure: true,
      ...(typeof runs === 'number' ? { numRuns: runs } : { numRuns: 1, path: runs }),
    },
  )
  return seen
}

const SEED = 11

/** Some of the operations, of which at most the last is refused, and their answers. */
async function askInTurn(side: Side, some: readonly WriteRequest[]) {
  const operations: WriteRequest[] = []
  const answers: Answer[] = []
  for (const [i, operation] of some.entries()) {
    const answer = await side.ask(operation)
    const isRefused = answer.status >= 400
    // Most batches would be refused at once.
    if (isRefused && i % 4 < 3) continue
    operations.push(operation)
    answers.push(answer)
    if (isRefused) break
  }
  return { operations, answers }
}

/** The parts of an answer, as `readAnswer` of the laws of writes prints them. */
function partsOf({ comparable }: Answer): { status: number; headers: Json; body: Json | undefined } {
  const [status, headers, text] = JSON.parse(comparable) as [number, [string, string][], string]
  const fixed = text.replaceAll(/,(?=[,}])|(?<=\{),/g, '')
  return { status, headers: Object.fromEntries(headers), body: fixed === '' ? undefined : JSON.parse(fixed) }
}

const resultsOf = ({ comparable }: Answer): unknown => JSON.parse(comparable)[3]

/** An answer as a result of a batch. */
function toResult(answer: Answer): Json {
  const { status, headers, body: shown } = partsOf(answer)
  const { etag, location, 'ignored-properties': ignored } = headers
  const isNew = status === 201
  const { _id, ...fields } = shown ?? {}
  const body = isNew ? fields : shown
  return {
    status,
    ...(etag === undefined || isNew ? {} : { etag }),
    ...(location === undefined || isNew ? {} : { location }),
    ...(ignored === undefined ? {} : { ignored: JSON.parse(`[${ignored}]`) }),
    ...(body === undefined ? {} : { body }),
  }
}

const isUnknownReference = ({ errors }: Json): boolean =>
  Array.isArray(errors) && errors.some(({ code }) => code === 'unknown_reference')

/** A refusal; that of an operation alone as its batch would give it. */
function readRefusal(answer: Answer, operation?: number): Json {
  if (operation === undefined) {
    const [status, headers, { title, code, detail, errors, operation: index }] = JSON.parse(answer.comparable)
    return { status, headers: Object.fromEntries(headers), title, code, detail, errors, operation: index }
  }
  const { status, headers, body: { title, code, detail, errors } = {} } = partsOf(answer)
  const moved = (errors as Json[] | undefined)?.map((fault) => ({
    ...fault,
    path: `/operations/${operation}/body${fault.path}`,
  }))
  return { status, headers, title, code, detail, errors: moved, operation }
}

/** What is stored, but for what is random in it. */
const sorted = (store: Store): unknown =>
  Object.values(store).map((documents) =>
    (documents as readonly Json[])
      .map(({ _version, ...document }) => {
        const isNew = !String(document._id).startsWith('0190163d')
        return JSON.stringify(isNew ? { ...document, _id: '' } : document, (_, value) =>
          typeof value === 'object' && value !== null && !Array.isArray(value)
            ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
            : value,
        )
      })
      .sort(),
  )

const CASCADING = {
  collections: {
    teams: { schema: { name: { type: 'string' } }, permissions: { root: true } },
    notes: {
      schema: { team: { type: 'reference', collection: 'teams', onDelete: 'cascade' } },
      permissions: { root: true },
    },
  },
}

/** A delete in a batch removes what refers to its document by then, and leaves what did before. Throws where it does not. */
export async function checkCascade({ create }: Building): Promise<void> {
  const { send, handler } = createTestService(CASCADING, {
    authenticate: () => null,
    ...(create ? { create } : {}),
  })
  const ask = async (line: string, body?: Json) => {
    const sent = await send(line, { caller: { id: 'root', roles: ['root'] }, ...(body ? { body } : {}) })
    expect(sent.status).toBeLessThan(300)
    return sent.body
  }
  const [here, there] = [await ask('POST /teams', {}), await ask('POST /teams', {})]
  const [leaving, coming] = [
    await ask('POST /notes', { team: here._id }),
    await ask('POST /notes', { team: there._id }),
  ]
  await ask('POST /_batch', {
    operations: [
      { method: 'PATCH', path: `/notes/${leaving._id}`, body: { team: there._id } },
      { method: 'PATCH', path: `/notes/${coming._id}`, body: { team: here._id } },
      { method: 'DELETE', path: `/teams/${here._id}` },
    ],
  })
  expect((await ask('GET /notes')).map(({ _id }: Json) => _id)).toEqual([leaving._id])
  await handler.close()
}
