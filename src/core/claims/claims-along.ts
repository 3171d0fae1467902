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

/** Determines the claims that are read together with the session of a request. */
export interface FindAlong {
  /** Returns the claims that decide what a user without roles may read of a collection. */
  of(collection: Collection, reads: Reads): Along
  /** Returns no claims. */
  none(): Along
}

/** The maximum number of documents of a claim that is read together with a session. */
const MOST = 100

/** Creates the lookup of claims that are read with a session: those that depend only on the `_id` of the user. */
export function createFindAlong({ claims }: Pick<ServicePlan, 'claims'>): FindAlong {
  // The placeholder is created when first needed, because some runtimes forbid random values while a module loads.
  let link: string | undefined
  const known = { list: new WeakMap<Collection, Along>(), document: new WeakMap<Collection, Along>() }
  const create = (some: readonly Claim[]): Along => {
    link ??= crypto.randomUUID()
    const binding = bindVariables(fromHost({ id: link }), () => '')
    const linked = some.flatMap((claim) => {
      const filter = isOfUserAlone(claim) ? bindClaim(claim, binding) : undefined
      return filter ? [{ claim, list: { in: claim.from, filter, limit: MOST + 1 } }] : []
    })
    return {
      link,
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
  let none: Along | undefined
  return {
    of(collection, reads) {
      const along = known[reads].get(collection) ?? create(claimsOf(collection, reads, claims))
      known[reads].set(collection, along)
      return along
    },
    none() {
      none ??= create([])
      return none
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
  const names = rules.flatMap((rule) => rule.claims)
  // A claim that uses claims is read after its bases.
  const bases = names.flatMap((name) => claims.get(name)?.bases ?? [])
  return [...new Set([...names, ...bases])].flatMap((name) => claims.get(name) ?? [])
}

const isOfUserAlone = ({ where }: Claim): boolean =>
  where.kind === 'bound' && where.variables.every((variable) => variable === USER_ID)
