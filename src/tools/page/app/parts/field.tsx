import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { escapePattern } from '../../../../client/escape-pattern.js'
import { escapePointer, type Fault, type FieldDraft, toDraft } from '../model/draft.js'
import { labelField, labelOf, shortId } from '../model/labels.js'
import type { Field } from '../model/schema.js'
import { collected } from '../state/collected.js'
import { description } from '../state/description.js'
import { ask } from '../state/service.js'
import { Text } from './value.js'

interface Option {
  readonly id: string
  readonly label: string
}

const MOST = 8

/** Matches an `_id`. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The milliseconds without typing after which a search begins. */
const PAUSE = 200

/** The input for a reference: a search field for a document, which also accepts an `_id`. */
function ReferenceInput({ field, draft, id, isWrong, describedBy, onChange }: InputProps) {
  const chosen = typeof draft === 'string' ? draft : ''
  const target = description.value?.collections.get(field.target ?? '')
  const [text, options] = [useSignal(''), useSignal<readonly Option[]>([])]
  /** The last option that was chosen or loaded, whose label is therefore known. */
  const named = useSignal<Option>({ id: '', label: '' })
  const [isOpen, active] = [useSignal(false), useSignal(0)]
  /** The search text to which the current options belong. */
  const sought = useSignal<string | undefined>(undefined)
  const aborting = useRef<AbortController>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  useEffect(() => {
    let isChosen = true
    if (chosen !== named.peek().id) void findLabel(() => isChosen)
    return () => {
      isChosen = false
      clearTimeout(timer.current)
    }
  }, [chosen])

  async function findLabel(isChosen: () => boolean): Promise<void> {
    const pending = findCollected().find((one) => one.id === chosen)
    if (pending) named.value = pending
    else if (target && chosen !== '') {
      // If the request fails, the field shows the `_id`.
      const found = await ask((client) => client.collection(target.name).get(chosen), {
        note: 'the name of a reference',
      }).catch(() => undefined)
      if (found && isChosen()) named.value = { id: chosen, label: labelOf(target, found.value) }
    }
  }

  /** Returns the new documents in the batch as options. */
  const findCollected = (): readonly Option[] =>
    collected.value
      .filter((one) => one.method === 'PUT' && one.collection === field.target)
      .map((one) => ({ id: one.id ?? '', label: `${labelOf(target, { ...one.body, _id: one.id })} (new)` }))

  async function search(): Promise<void> {
    aborting.current?.abort()
    if (!target) return
    aborting.current = new AbortController()
    const { signal } = aborting.current
    clearTimeout(timer.current)
    const asked = text.value
    const by = labelField(target)?.name
    const canSearch = by !== undefined && target.filters.get(by)?.includes('$regex')
    const q =
      asked !== '' && canSearch ? { [by]: { $regex: escapePattern(asked), $options: 'i' } } : undefined
    try {
      const { value } = await ask(
        (client) =>
          client.collection(target.name).list({ ...(q ? { q } : {}), limit: MOST, signal } as never),
        { signal, note: 'documents for a reference' },
      )
      const found = value as unknown as readonly { readonly _id: string }[]
      options.value = [
        ...findCollected(),
        ...found.map((one) => ({ id: one._id, label: labelOf(target, one) })),
      ]
      active.value = 0
    } catch {
      if (signal.aborted) return
      options.value = findCollected()
    }
    sought.value = asked
  }

  const typed = (value: string): void => {
    text.value = value
    isOpen.value = true
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void search(), PAUSE)
  }
  const choose = (option: Option | undefined): void => {
    if (!option) return
    named.value = option
    onChange(option.id)
    isOpen.value = false
    text.value = ''
  }
  const close = (): void => {
    isOpen.value = false
    // The text may be an `_id` that was typed or pasted.
    if (ID.test(text.value)) onChange(text.value)
    text.value = ''
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen.value) typed(text.value)
      const { length } = options.value
      if (length > 0) active.value = (active.value + (event.key === 'ArrowDown' ? 1 : length - 1)) % length
    } else if (event.key === 'Enter' && isOpen.value && (text.value !== '' || options.value.length > 0)) {
      // Enter never submits the form, and chooses an option only if the options belong to the current text.
      event.preventDefault()
      if (sought.value !== text.value) void search()
      else choose(options.value[active.value])
    } else if (event.key === 'Escape' && isOpen.value) {
      event.preventDefault()
      isOpen.value = false
    }
  }
  return (
    <div class="combo">
      <input
        id={id}
        role="combobox"
        aria-expanded={isOpen.value}
        aria-controls={`${id}l`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen.value && options.value.length > 0 ? `${id}o${active.value}` : undefined}
        aria-invalid={isWrong}
        aria-describedby={describedBy}
        aria-required={field.isRequired}
        autocomplete="off"
        placeholder={field.target ? `search ${field.target}` : '_id'}
        value={isOpen.value ? text.value : named.value.id === chosen ? named.value.label : chosen}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => !isOpen.value && typed('')}
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={press}
        onBlur={close}
      />
      {chosen !== '' && (
        <button type="button" class="clear" aria-label={`Clear ${field.name}`} onClick={() => onChange('')}>
          ×
        </button>
      )}
      <div
        id={`${id}l`}
        role="listbox"
        aria-label={field.target ?? field.name}
        class="options"
        hidden={!isOpen.value || options.value.length === 0}
      >
        {options.value.map((option, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          <div
            key={option.id}
            id={`${id}o${i}`}
            role="option"
            aria-selected={i === active.value}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(option)}
          >
            <Text text={option.label} isShort />
            <span class="faint mono">{shortId(option.id)}</span>
          </div>
        ))}
      </div>
    </div>
  )
}

/** The props of a field in a form. */
export interface FieldProps {
  readonly field: Field
  readonly draft: FieldDraft
  /** The JSON pointer of the field in the body. */
  readonly path: string
  /** All validation errors of the form. */
  readonly faults: readonly Fault[]
  readonly onChange: (draft: FieldDraft) => void
  /** The value of the `autocomplete` attribute. */
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

export interface InputProps extends FieldProps {
  readonly id: string
  readonly isWrong: boolean
  readonly describedBy: string | undefined
}

function Input(props: InputProps) {
  const { field, draft, id, isWrong, describedBy, onChange, autocomplete } = props
  const text = typeof draft === 'string' ? draft : ''
  // A single-line input would remove line ends.
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
      // Inputs change line ends to `\n`, so stored `\r\n` are restored.
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
