import { compileConfig } from '../../../../../src/core/config/compile-config.js'
import { compileWrite } from '../../../../../src/core/documents/write/compile-write.js'
import {
  Draft,
  type Stage,
  type Verdict,
  type WriteOperation,
} from '../../../../../src/core/documents/write/draft.js'
import { bindVariables } from '../../../../../src/core/permissions/caller.js'
import { createReadGate } from '../../../../../src/core/permissions/read-gate.js'
import { createRuleJudge } from '../../../../../src/core/permissions/write-rules.js'
import type { Call } from '../../../../../src/core/request/call.js'
import { Slices } from '../../../../../src/core/slices.js'
import type { StoredDocument } from '../../../../../src/core/storage.js'
import type { JsonObject } from '../../../../../src/core/types.js'

export const NOW = '2026-01-01T00:00:00.000Z'

export const ID = '00000000-0000-7000-8000-000000000001'

/** A collection `things`, and what belongs to it. */
interface World {
  readonly schema: JsonObject
  readonly permissions?: JsonObject
  readonly collections?: JsonObject
  readonly additionalProperties?: boolean
  /** The collections that have a hook. */
  readonly hooked?: readonly string[]
  readonly fills?: readonly string[]
}

/** The compiled collection `things`, and the names of the stages that its operations need. */
export function compile(world: World) {
  const { schema, permissions = { '*': true }, collections = {}, additionalProperties = false } = world
  const plan = compileConfig(
    { collections: { ...collections, things: { schema, permissions, additionalProperties } } },
    {
      production: false,
      hasAuthenticate: true,
      ...(world.fills ? { fills: new Map([['things', world.fills]]) } : {}),
    },
  )
  const things = plan.collections.get('things')
  if (!things) throw new Error('no collection')
  const hooks = { has: (name: string) => world.hooked?.includes(name) === true } as Call['service']['hooks']
  const parts = { plan, accounts: null, ...(world.hooked && hooks ? { hooks } : {}) }
  return {
    plan,
    things,
    stagesOf: (operation: WriteOperation) => compileWrite(parts, things, operation),
    namesOf: (operation: WriteOperation) => compileWrite(parts, things, operation).map(({ name }) => name),
  }
}

/** What a draft is made of. */
interface Made {
  readonly body?: JsonObject
  readonly operation?: WriteOperation
  /** The fields of the stored document, for an update. */
  readonly stored?: JsonObject
  /** Only these of its fields are shown. */
  readonly shows?: readonly string[]
  readonly steps?: number
}

/** A draft of an anonymous caller under the rule of `*`. The body is already dropped and given. */
export function draftOf(world: World, { body = {}, operation, stored, shows, steps }: Made): Draft {
  const { plan, things } = compile(world)
  const binding = bindVariables(null, () => NOW, undefined)
  const asking = { caller: null, binding }
  const service = { plan, accounts: null }
  const call = { ...asking, service, judge: createRuleJudge(asking) } as unknown as Call
  const named = operation ?? (stored ? 'patch' : 'create')
  const [rule] = things.permissions[named === 'create' ? 'create' : 'update'].get('*') ?? []
  const access = createReadGate(things, { keepTexts: () => undefined as never, createKey: () => 1 })(call)
  if (!rule || !access) throw new Error('nothing is granted')
  const document = { _id: ID, _version: 1, createdAt: NOW, updatedAt: NOW, createdBy: null, ...stored }
  const shown = shows
    ? Object.fromEntries(Object.entries(document).filter(([name]) => shows.includes(name)))
    : document
  const before = stored && {
    stored: document as StoredDocument,
    shown: { ...shown, _id: ID },
    access: shows
      ? { ...access, isShown: (_: StoredDocument, name: string) => shows.includes(name) }
      : access,
    rules: [rule],
  }
  const write = {
    call,
    collection: things,
    operation: named,
    stages: { read: [], judge: [], settle: [], guard: [] },
    rules: [rule],
    before,
    hashed: undefined,
    required: undefined,
    referable: () => undefined,
  }
  const system = { _id: ID, createdAt: NOW, updatedAt: NOW, createdBy: null }
  const draft = new Draft(write, { body, system }, new Slices(steps ?? Number.POSITIVE_INFINITY), rule)
  draft.given = body
  return draft
}

/** Runs stages on a draft, up to the first verdict. */
export async function judge(draft: Draft, ...stages: readonly Stage[]): Promise<Verdict | undefined> {
  for (const stage of stages) {
    const verdict = await stage.judge?.(draft)
    if (verdict) return verdict
  }
  return undefined
}
