import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Conflict } from '../../model/conflict.js'
import type { FieldDraft } from '../../model/draft.js'
import { readDraft } from '../../model/draft.js'
import type { Field } from '../../model/schema.js'
import { Value } from '../../parts/value.js'

interface Props {
  readonly conflicts: readonly Conflict[]
  readonly onResolve: (theirs: ReadonlySet<string>) => void
}

/** The changes of others, beside the person's own. */
export function Conflicts({ conflicts, onResolve }: Props) {
  const theirs = useSignal<ReadonlySet<string>>(new Set())
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const choose = (name: string, isTheirs: boolean): void => {
    const next = new Set(theirs.value)
    if (isTheirs) next.add(name)
    else next.delete(name)
    theirs.value = next
  }
  return (
    <div class="conflicts" role="group" aria-labelledby="conflicts">
      <h2 id="conflicts" tabIndex={-1} ref={heading}>
        The document was changed meanwhile
      </h2>
      <p class="hint">
        Your changes are not saved yet.{' '}
        {conflicts.length === 0
          ? 'The fields that you see are unchanged.'
          : 'Changes by others are kept. Choose a value for fields that you changed too.'}
      </p>
      {conflicts.map(({ field, was, theirs: other, mine }) => (
        <fieldset key={field.name}>
          <legend>{field.name}</legend>
          <dl>
            <div>
              <dt>old value</dt>
              <dd>
                <Drafted field={field} draft={was} />
              </dd>
            </div>
            {mine === undefined && (
              <div>
                <dt>their value</dt>
                <dd>
                  <Drafted field={field} draft={other} />
                </dd>
              </div>
            )}
          </dl>
          {mine !== undefined && (
            <div class="either">
              <label>
                <input
                  type="radio"
                  name={`conflict ${field.name}`}
                  checked={!theirs.value.has(field.name)}
                  onChange={() => choose(field.name, false)}
                />
                <span class="faint">your value</span> <Drafted field={field} draft={mine} />
              </label>
              <label>
                <input
                  type="radio"
                  name={`conflict ${field.name}`}
                  checked={theirs.value.has(field.name)}
                  onChange={() => choose(field.name, true)}
                />
                <span class="faint">their value</span> <Drafted field={field} draft={other} />
              </label>
            </div>
          )}
        </fieldset>
      ))}
      <div class="actions">
        <button type="button" class="main" onClick={() => onResolve(theirs.value)}>
          Save over the newest version
        </button>
      </div>
    </div>
  )
}

/** A draft, displayed like its value. */
function Drafted({ field, draft }: { readonly field: Field; readonly draft: FieldDraft }) {
  const { value } = readDraft(field, draft)
  return <Value field={field} value={value ?? (typeof draft === 'string' && draft ? draft : undefined)} />
}
