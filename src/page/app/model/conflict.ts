import { type FieldDraft, isSame } from './draft.js'
import type { Field } from './schema.js'

/** A field that others changed since it was read. */
export interface Conflict {
  readonly field: Field
  readonly was: FieldDraft
  readonly theirs: FieldDraft
  /** What this person wrote; `undefined` where they left it alone. */
  readonly mine: FieldDraft | undefined
}

type Drafts = { readonly [name: string]: FieldDraft }

/** What others changed, beside what one wrote: of each field, what it was, theirs, and mine. */
export function findConflicts(
  fields: readonly Field[],
  { was, theirs, mine }: { readonly was: Drafts; readonly theirs: Drafts; readonly mine: Drafts },
): readonly Conflict[] {
  return fields
    .filter(({ name }) => !isSame(was[name], theirs[name]))
    .map((field) => {
      const { name } = field
      const isMine = !isSame(was[name], mine[name]) && !isSame(mine[name], theirs[name])
      return {
        field,
        was: was[name] ?? '',
        theirs: theirs[name] ?? '',
        mine: isMine ? (mine[name] ?? '') : undefined,
      }
    })
}

/** The form after what it `sent` was `stored`: that, and what was written since. */
export const keepNewer = (sent: Drafts, now: Drafts, stored: Drafts): Drafts => ({
  ...stored,
  ...Object.fromEntries(Object.entries(now).filter(([name, draft]) => !isSame(draft, sent[name]))),
})

/** The form over the newest state: theirs where one wrote nothing, or chose it; else mine. */
export function settle(
  conflicts: readonly Conflict[],
  mine: Drafts,
  takesTheirs: ReadonlySet<string>,
): Drafts {
  const taken = conflicts.filter((one) => one.mine === undefined || takesTheirs.has(one.field.name))
  return { ...mine, ...Object.fromEntries(taken.map(({ field, theirs }) => [field.name, theirs])) }
}
