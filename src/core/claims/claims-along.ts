import type { Claim, Collection, ServicePlan } from '../config/plan.js'
import { bindVariables, fromHost, type KnownCaller } from '../permissions/caller.js'
import { selectDecidingRules, selectUndemanding } from '../permissions/read-gate.js'
import { type ClaimValues, USER_ID } from '../query/variable.js'
import type { LinkedFound, LinkedList } from '../storage.js'
import { bindClaim, claimFrom, gather } from './claims.js'

/** The claims that are read together with a session. */
export interface Along {
  /** A placeholder in the lists for the `_id` of the session's user, which is not known yet (see `Linked`). */
  readonly link: string
  readonly lists: readonly LinkedList[]
  /**
   * Returns the values of the claims by name. Claims with too many documents are left out: they must be read
   * separately.
   */
  take(found: LinkedFound['lists']): ReadonlyMap<string, ClaimValues>
}

/**
 * The kind of a read: a list, which always depends on claims, or a document, which rules without claims may already
 * show.
 */
export type Reads = 'list' | 'document'

/** The claims that are read with the session for a read, by the name of its collection. */
type Alongs = { readonly [reads in Reads]: ReadonlyMap<string, Along> }

/** The maximum number of documents of a claim that is read together with a session. */
const MOST = 100

/** Stands for the `_id` of the session's user. It is a UUID, because a field may only accept those, and a fixed one. */
const LINK = '5d0e1c86-97d0-4a0b-a3ff-06c2b8e4f7d1'

const binding = bindVariables(fromHost({ id: LINK }), () => '')

/** No claims. */
export const NO_CLAIMS: Along = { link: LINK, lists: [], take: () => new Map() }

/** Selects the claims that are read with a session: those that depend only on the `_id` of the user. */
export function compileAlongs({ claims, collections }: Pick<ServicePlan, 'claims' | 'collections'>): Alongs {
  const alongOf = (reads: Reads): ReadonlyMap<string, Along> =>
    new Map(
      [...collections.values()].map((collection) => [
        collection.name,
        createAlong(claimsOf(collection, reads, claims)),
      ]),
    )
  return { list: alongOf('list'), document: alongOf('document') }
}

function createAlong(claims: readonly Claim[]): Along {
  const linked = claims.flatMap((claim) => {
    const filter = isOfUserAlone(claim) ? bindClaim(claim, binding) : undefined
    return filter ? [{ claim, list: { in: claim.from, filter, limit: MOST + 1 } }] : []
  })
  if (linked.length === 0) return NO_CLAIMS
  return {
    link: LINK,
    lists: linked.map(({ list }) => list),
    take(found) {
      const taken = new Map<string, ClaimValues>()
      for (const [i, { claim }] of linked.entries()) {
        const documents = found[i]
        if (!documents || documents.length > MOST) continue
        taken.set(claim.name, gather(documents.map(claimFrom(claim)), true))
      }
      return taken
    },
  }
}

const SOMEBODY: KnownCaller = { id: '', roles: [], fields: {} }

function claimsOf(
  { permissions }: Collection,
  reads: Reads,
  claims: ServicePlan['claims'],
): readonly Claim[] {
  const rules = selectDecidingRules(permissions, SOMEBODY)
  if (reads === 'document' && selectUndemanding(rules).covering.length > 0) return []
  return [...new Set(rules.flatMap((rule) => rule.claims))].flatMap((name) => claims.get(name) ?? [])
}

const isOfUserAlone = ({ where }: Claim): boolean =>
  where.kind === 'bound' && where.variables.every((variable) => variable === USER_ID)
