import { useId, useRef } from 'preact/hooks'
import type { Fault, FieldDraft } from '../model/draft.js'
import { escapePointer, toDraft } from '../model/draft.js'
import type { Field } from '../model/schema.js'
import { ReferenceInput } from './reference-input.js'

/** A field of a form. */
export interface FieldProps {
  readonly field: Field
  readonly draft: FieldDraft
  /** The JSON pointer of the field in the body. */
  readonly path: string
  /** All validation errors of the form. */
  readonly faults: readonly Fault[]
  readonly onChange: (draft: FieldDraft) => void
  /** The autocomplete attribute. */
  readonly autocomplete?: string | undefined
  readonly label?: string | undefined
}

/** A field with its label, its hint and its validation errors. */
export function FieldInput(props: FieldProps) {
  const { field, path, faults, draft } = props
  const id = useId()
  const own = faults.filter(
    (fault) => fault.path === path || (isLeaf(field) && fault.path.startsWith(`${path}/`)),
  )
  const label = props.label ?? field.name
  const about = describe(field)
  const describedBy = [about && `${id}a`, own.length > 0 && `${id}f`].filter(Boolean).join(' ') || undefined
  const notes = (
    <>
      {about && (
        <p class="hint" id={`${id}a`}>
          {about}
        </p>
      )}
      {own.length > 0 && (
        <p class="fault" id={`${id}f`}>
          {own.map(({ message }) => message).join('; ')}
        </p>
      )}
    </>
  )
  if (field.kind === 'object' || field.kind === 'array') {
    return (
      <fieldset class={own.length > 0 ? 'field group wrong' : 'field group'} aria-describedby={describedBy}>
        <legend>
          {label}
          {!field.isRequired && <Optional />}
        </legend>
        {notes}
        {field.kind === 'object' ? (
          <ObjectInput {...props} />
        ) : (
          <ArrayInput {...props} draft={Array.isArray(draft) ? draft : []} />
        )}
      </fieldset>
    )
  }
  return (
    <div class={own.length > 0 ? 'field wrong' : 'field'}>
      <label for={id}>
        {label}
        {!field.isRequired && <Optional />}
      </label>
      <Input {...props} id={id} isWrong={own.length > 0} describedBy={describedBy} />
      {notes}
    </div>
  )
}

const Optional = () => <span class="faint"> optional</span>

const isLeaf = ({ kind }: Field): boolean => kind !== 'object' && kind !== 'array'

function describe({ description, kind }: Field): string {
  const own = kind === 'time' ? 'In the time zone of this device.' : kind === 'json' ? 'As JSON.' : ''
  return [description, own].filter(Boolean).join(' ')
}

/** The props of an input. */
export interface InputProps extends FieldProps {
  readonly id: string
  readonly isWrong: boolean
  readonly describedBy: string | undefined
}

function Input(props: InputProps) {
  const { field, draft, id, isWrong, describedBy, onChange, autocomplete } = props
  const text = typeof draft === 'string' ? draft : ''
  // An input with a single line would remove line ends.
  const hasLines = useRef(/\n/.test(text)).current
  const kind = field.kind === 'text' && hasLines ? 'long' : field.kind
  const common = {
    id,
    name: field.name,
    'aria-invalid': isWrong,
    'aria-describedby': describedBy,
    'aria-required': field.isRequired,
    autocomplete: autocomplete ?? 'off',
    onInput: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
      // Inputs change line ends to `\n`.
      onChange(text.includes('\r\n') ? value.replace(/\n/g, '\r\n') : value),
  }
  switch (kind) {
    case 'reference':
      return <ReferenceInput {...props} />
    case 'choice':
    case 'boolean': {
      const choices = field.kind === 'boolean' ? [true, false] : field.choices
      return (
        <select {...common} value={text}>
          <option value="">{field.isRequired ? 'choose…' : '–'}</option>
          {choices.map((choice) => (
            <option key={String(choice)} value={JSON.stringify(choice)}>
              {nameOf(choice)}
            </option>
          ))}
        </select>
      )
    }
    case 'long':
    case 'json':
      return (
        <textarea
          {...common}
          value={text.replace(/\r\n/g, '\n')}
          class={kind === 'json' ? 'mono' : undefined}
          rows={Math.min(12, Math.max(kind === 'json' ? 4 : 2, text.slice(0, 2000).split('\n').length))}
          spellcheck={kind === 'long'}
        />
      )
    case 'time':
      return <input {...common} value={text} type="datetime-local" step="any" />
    case 'date':
      return <input {...common} value={text} type="date" />
    case 'secret':
      return <input {...common} value={text} type="password" />
    case 'number':
    case 'integer':
      return <input {...common} value={text} inputMode={field.kind === 'integer' ? 'numeric' : 'decimal'} />
    default:
      return (
        <input
          {...common}
          value={text}
          inputMode={
            field.schema.format === 'idn-email' ? 'email' : field.schema.format === 'uri' ? 'url' : 'text'
          }
        />
      )
  }
}

export const nameOf = (choice: unknown): string =>
  choice === true
    ? 'yes'
    : choice === false
      ? 'no'
      : typeof choice === 'string'
        ? choice
        : JSON.stringify(choice)

function ObjectInput({ field, draft, path, faults, onChange }: FieldProps) {
  const own =
    typeof draft === 'object' && !Array.isArray(draft)
      ? (draft as { readonly [name: string]: FieldDraft })
      : {}
  return (
    <>
      {field.fields.map((inner) => (
        <FieldInput
          key={inner.name}
          field={inner}
          draft={own[inner.name] ?? ''}
          path={`${path}/${escapePointer(inner.name)}`}
          faults={faults}
          onChange={(next) => onChange({ ...own, [inner.name]: next })}
        />
      ))}
    </>
  )
}

function ArrayInput({
  field,
  draft,
  path,
  faults,
  onChange,
}: FieldProps & { readonly draft: readonly FieldDraft[] }) {
  const { items } = field
  if (!items) return null
  return (
    <>
      {draft.map((item, i) => (
        <div class="element" key={i}>
          <FieldInput
            field={items}
            label={String(i + 1)}
            draft={item}
            path={`${path}/${i}`}
            faults={faults}
            onChange={(next) => onChange(draft.map((one, at) => (at === i ? next : one)))}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${field.name} ${i + 1}`}
            onClick={() => onChange(draft.filter((_, at) => at !== i))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => onChange([...draft, toDraft(items, undefined)])}>
        Add to {field.name}
      </button>
    </>
  )
}
