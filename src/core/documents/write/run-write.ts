import type { Collection } from '../../config/plan.js'
import { addNearNames } from '../../fields/schema/near-names.js'
import { whereHooked } from '../../hooks/where-hooked.js'
import type { Rule } from '../../permissions/grants.js'
import { acceptsProperty, listIgnored } from '../../permissions/write-rules.js'
import { isPromise, whenReady } from '../../promises.js'
import type { Permit } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import { ignoredNames, refused } from '../../request/refusals.js'
import { forEachSliced, inSlices, type Sliced } from '../../slices.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import {
  type BodyWrite,
  Draft,
  type GivenBody,
  stagesOf,
  type Verdict,
  type WriteOperation,
} from './draft.js'
import { invalidFor } from './redact.js'
import { keepAccepted, STEPS_TO_DROP } from './stages/drop.js'
import { tellOneAgain, type WrittenDocument } from './written.js'

/** Runs a write to a collection, together with the operations that its hook adds. */
export const withHook = (
  call: Call,
  collection: Collection,
  run: (own: Call) => MaybePromise<WrittenDocument>,
): MaybePromise<WrittenDocument> =>
  call.service.hooks ? whereHooked(call, collection, run, tellOneAgain) : run(call)

/** Begins a write under the rules of a permit. */
export const beginWrite = (
  call: Call,
  { collection, rules }: Permit,
  operation: WriteOperation,
  { before, hashed, required }: Partial<Pick<BodyWrite, 'before' | 'hashed' | 'required'>> = NO_DETAILS,
): BodyWrite => ({
  call,
  collection,
  operation,
  stages: stagesOf(call, collection, operation),
  rules,
  before,
  hashed,
  required,
  referable: unreferable,
})

const NO_DETAILS = {}

/** Rejects every reference. Collections with references have a stage that replaces it. */
const unreferable = (): undefined => undefined

/**
 * Runs the stages of a write: evaluates its body under the first rule that accepts it, and completes the accepted
 * draft. Throws the errors of `chooseRule` and of the stages.
 */
export const runWrite = (write: BodyWrite, body: GivenBody): MaybePromise<Draft> =>
  whenReady(readFor(write, [body.body]), () =>
    whenReady(
      inSlices(
        (slices) => chooseRule(write, body, slices),
        () => write.call.deadline.signal,
      ),
      settleDraft,
    ),
  )

/** Reads what the evaluation of bodies needs. */
export const readFor = (write: BodyWrite, bodies: readonly JsonObject[]): MaybePromise<unknown> =>
  inOrder(write.stages.read, (read) => read(write, bodies))

/** Completes a draft that its rule accepts. */
export const settleDraft = (draft: Draft): MaybePromise<Draft> =>
  draft.writes && draft.write.stages.settle.length > 0
    ? whenReady(
        inOrder(draft.write.stages.settle, (settle) => settle(draft)),
        () => draft,
      )
    : draft

/** Runs the functions of a moment, one after another, up to the first result. */
function inOrder<F extends object, T>(
  moment: readonly F[],
  run: (stage: F) => MaybePromise<T | undefined>,
  from = 0,
): MaybePromise<T | undefined> {
  for (let i = from; i < moment.length; i++) {
    const stage = moment[i]
    const result = stage && run(stage)
    if (isPromise(result)) return result.then((last) => last ?? inOrder(moment, run, i + 1))
    if (result) return result
  }
  return undefined
}

const FITS: Verdict = { kind: 'fits' }

/**
 * Tries rules until one accepts the body. Rules that drop nothing of the body come first. If the first rule finds
 * validation errors, they are the response; a later rule with validation errors is skipped. If a rule that drops nothing
 * was refused, a rule that keeps nothing is skipped too (CONTRACT.md §5). Throws `validation_failed`, also if the
 * accepting rule drops properties of a strict request. Throws `forbidden` if no rule accepts the body.
 */
export const chooseRule: Sliced<[write: BodyWrite, body: GivenBody], Draft> = (write, body, slices) =>
  whenReady(write.rules.length > 1 ? putWholeFirst(write, body.body, slices) : write.rules, (order) => {
    const { call } = write
    call.service.trace?.tries(
      call,
      body.body,
      order.map((rule) => ({ rule, kept: keepAccepted(write, rule, body.body) })),
    )
    return tryRules(order, (rule) => new Draft(write, body, slices, rule))
  })

/** The result of the rules that were already tried. */
interface Tried {
  /** Whether a rule that drops nothing of the body was refused. */
  readonly isRefused: boolean
  /** The first draft that fits, except for references that are checked after all operations of a batch. */
  readonly deferring: Draft | undefined
}

const NONE_TRIED: Tried = { isRefused: false, deferring: undefined }

function tryRules(
  order: readonly Rule[],
  begin: (rule: Rule) => Draft,
  at = 0,
  { isRefused, deferring }: Tried = NONE_TRIED,
): MaybePromise<Draft> {
  const rule = order[at]
  if (!rule) {
    if (deferring) return deferring
    throw refused()
  }
  const draft = begin(rule)
  draft.followsRefusal = isRefused
  return whenReady(
    inOrder(draft.write.stages.judge, (judge) => judge(draft)),
    (verdict = FITS) => {
      const { call, body } = draft
      call.service.trace?.tried(
        draft,
        verdict.kind === 'invalid' ? { ...verdict, faults: [...verdict.faults, ...verdict.others] } : verdict,
      )
      if (verdict.kind === 'fits') {
        draft.ignored = listIgnored(body, draft.kept.body)
        if (call.isStrict && draft.ignored.length > 0) throw ignoredNames(draft.ignored)
        // Alone, this operation would be invalid under this rule, so that a later rule may accept it.
        return at > 0 && draft.deferred.length > 0
          ? tryRules(order, begin, at + 1, { isRefused, deferring: deferring ?? draft })
          : draft
      }
      if (verdict.kind === 'invalid' && at === 0) throw explain(draft, verdict)
      const isWholeRefused = verdict.kind === 'refused' && draft.kept.isWhole
      return tryRules(order, begin, at + 1, { isRefused: isRefused || isWholeRefused, deferring })
    },
  )
}

/** Returns the rules that drop nothing of a body, followed by the other rules. */
const putWholeFirst: Sliced<[write: BodyWrite, body: JsonObject], readonly Rule[]> = (
  write,
  body,
  slices,
) => {
  // The kept part of a body may be as large as the body, so only one part at a time is in memory.
  const [whole, others]: readonly [Rule[], Rule[]] = [[], []]
  const sorting = forEachSliced(slices, write.rules, (rule) => {
    slices.left -= STEPS_TO_DROP * Object.keys(body).length
    if (keepAccepted(write, rule, body).isWhole) whole.push(rule)
    else others.push(rule)
  })
  return whenReady(sorting, () => [...whole, ...others])
}

/**
 * Returns the error of a draft with validation errors. The errors of undeclared names get suggestions, from the names
 * that the rule accepts.
 */
function explain({ call, collection, rule }: Draft, { faults }: Extract<Verdict, { kind: 'invalid' }>) {
  const names = collection.fields.map(({ name }) => name)
  const accepted = names.filter((name) => acceptsProperty(rule, name, collection))
  return invalidFor(call, collection, addNearNames(faults, collection.fields, accepted))
}
