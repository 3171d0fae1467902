import { type FieldDraft, isSame } from './draft.js'
import type { Field } from './schema.js'

/** A field that others changed since it was read. */
export interface Conflict {
  readonly field: Field
  readonly was: FieldDraft
  readonly theirs: FieldDraft
  /** The draft of this person; `undefined` if they have not changed the field. */
  readonly mine: FieldDraft | undefined
}

type Drafts = { readonly [name: string]: FieldDraft }

/**
 * The fields that others changed since the form was loaded: old value, their value, and the draft if it was changed.
 */
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

/** The form after `sent` was saved as `stored`: the stored values, and later input. */
export const keepNewer = (sent: Drafts, now: Drafts, stored: Drafts): Drafts => ({
  ...stored,
  ...Object.fromEntries(Object.entries(now).filter(([name, draft]) => !isSame(draft, sent[name]))),
})

/** The form over the newest version: their value for untouched or chosen fields; else the draft. */
export function settle(
  conflicts: readonly Conflict[],
  mine: Drafts,
  takesTheirs: ReadonlySet<string>,
): Drafts {
  const taken = conflicts.filter((one) => one.mine === undefined || takesTheirs.has(one.field.name))
  return { ...mine, ...Object.fromEntries(taken.map(({ field, theirs }) => [field.name, theirs])) }
}
