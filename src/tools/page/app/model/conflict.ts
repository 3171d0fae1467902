import { type FieldDraft, isSame } from './draft.js'
import type { Field } from './schema.js'

/** A field that another person has changed since the form was loaded. `was` is the old value, `theirs` the new one. */
export interface Conflict {
  readonly field: Field
  readonly was: FieldDraft
  readonly theirs: FieldDraft
  /** The value in the form; `undefined` if this person has not changed the field. */
  readonly mine: FieldDraft | undefined
}

type Drafts = { readonly [name: string]: FieldDraft }

/** Returns the fields that others have changed since the form was loaded. */
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

/**
 * Returns the content of the form after `sent` was saved as `stored`: the stored values, but fields that were edited
 * during the request keep their input.
 */
export const keepNewer = (sent: Drafts, now: Drafts, stored: Drafts): Drafts => ({
  ...stored,
  ...Object.fromEntries(Object.entries(now).filter(([name, draft]) => !isSame(draft, sent[name]))),
})

/**
 * Returns the content of the form for the newest version: the other person's value for fields that this person has not
 * changed, and for those in `takesTheirs`, else this person's input.
 */
export function settle(
  conflicts: readonly Conflict[],
  mine: Drafts,
  takesTheirs: ReadonlySet<string>,
): Drafts {
  const taken = conflicts.filter((one) => one.mine === undefined || takesTheirs.has(one.field.name))
  return { ...mine, ...Object.fromEntries(taken.map(({ field, theirs }) => [field.name, theirs])) }
}
