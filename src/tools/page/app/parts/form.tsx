import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Fault, FieldDraft } from '../model/draft.js'
import { escapePointer } from '../model/draft.js'
import type { Field } from '../model/schema.js'
import { FieldInput } from './field.js'
import { Problem } from './notices.js'

export type Drafts = { readonly [name: string]: FieldDraft }

interface FormProps {
  readonly fields: readonly Field[]
  readonly drafts: Drafts
  readonly faults: readonly Fault[]
  readonly problem?: string | undefined
  readonly onChange: (drafts: Drafts) => void
  readonly onSubmit: () => void
  readonly autocomplete?: (field: Field) => string | undefined
  readonly labelOf?: (field: Field) => string | undefined
  /** The buttons of the form. */
  readonly children: ComponentChildren
}

/**
 * A form created from a schema. A validation error appears at its field, or above the form if it belongs to no field.
 */
export function Form({
  fields,
  drafts,
  faults,
  problem,
  onChange,
  onSubmit,
  autocomplete,
  labelOf,
  children,
}: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const paths = fields.map(({ name }) => `/${escapePointer(name)}`)
  const elsewhere = faults.filter(
    ({ path }) => !paths.some((own) => path === own || path.startsWith(`${own}/`)),
  )
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
        // If validation fails, the first invalid field gets the focus.
        setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 50)
      }}
    >
      {(problem || elsewhere.length > 0) && (
        <Problem text={problem ?? ''}>
          {elsewhere.map(({ path, message }) => (
            <p key={path + message}>{path ? `${path.slice(1)} ${message}` : message}</p>
          ))}
        </Problem>
      )}
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          draft={drafts[field.name] ?? ''}
          path={`/${escapePointer(field.name)}`}
          faults={faults}
          autocomplete={autocomplete?.(field)}
          label={labelOf?.(field)}
          onChange={(draft) => onChange({ ...drafts, [field.name]: draft })}
        />
      ))}
      <div class="actions">{children}</div>
    </form>
  )
}
