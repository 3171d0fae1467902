import { type DescribedCollection, unknownField } from '../model/description.js'
import { labelOf, shortId } from '../model/labels.js'
import { writePlace } from '../model/place.js'
import type { Field } from '../model/schema.js'
import { describeTime, describeValue, readLink, shorten, showControls } from '../model/text.js'
import { description } from '../state/description.js'

/** The maximum number of characters of a value in a table. */
const IN_TABLE = 120

/**
 * Any text from a document or the service. It is never markup. It is isolated, so that its writing direction does not
 * affect the text around it.
 */
export const Text = ({ text, isShort = false }: { readonly text: string; readonly isShort?: boolean }) => (
  <bdi>{showControls(isShort ? shorten(text, IN_TABLE) : text)}</bdi>
)

/**
 * A reference: if it was expanded, the label of the document, with a link if this caller may read it; else the end of
 * the `_id`.
 */
export function Reference({
  value,
  target,
}: {
  readonly value: unknown
  readonly target: string | undefined
}) {
  const collection: DescribedCollection | undefined = description.value?.collections.get(target ?? '')
  if (typeof value === 'object' && value !== null && target !== undefined) {
    const { _id: id } = value as { readonly _id?: unknown }
    const label = <Text text={labelOf(collection, value)} isShort />
    return typeof id === 'string' && collection?.operations.has('read') ? (
      <a class="reference" href={writePlace({ view: 'document', collection: target, id })}>
        {label}
      </a>
    ) : (
      label
    )
  }
  return (
    <span class="faint mono" title={typeof value === 'string' ? value : undefined}>
      {shortId(value)}
    </span>
  )
}

interface ValueProps {
  readonly field: Field
  readonly value: unknown
  readonly isShort?: boolean
}

/** The value of a field, formatted for people. */
export function Value({ field, value, isShort = false }: ValueProps) {
  if (value === undefined || value === null) return <span class="faint">–</span>
  if (field.kind === 'reference') return <Reference value={value} target={field.target} />
  if (field.kind === 'array' && Array.isArray(value)) return <List {...{ field, value, isShort }} />
  if (field.kind === 'object' && !isShort && typeof value === 'object')
    return <Parts field={field} value={value} />
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>
  if (typeof value === 'number') return <span class="number">{String(value)}</span>
  if (typeof value !== 'string')
    return (
      <code>
        <Text text={describeValue(value)} isShort={isShort} />
      </code>
    )
  if (field.kind === 'time')
    return (
      <time dateTime={value} title={value}>
        {describeTime(value)}
      </time>
    )
  if (field.kind === 'choice')
    return (
      <span class="choice">
        <Text text={value} isShort={isShort} />
      </span>
    )
  const link = readLink(value)
  return link ? (
    <a href={link} rel="noopener noreferrer" target="_blank">
      <Text text={value} isShort={isShort} />
    </a>
  ) : (
    <Text text={value} isShort={isShort} />
  )
}

const MOST_ELEMENTS = 8

function List({ field, value, isShort }: { field: Field; value: readonly unknown[]; isShort: boolean }) {
  const shown = isShort ? value.slice(0, MOST_ELEMENTS) : value
  const items = field.items ?? unknownField('')
  return (
    <span class="elements">
      {shown.map((item, i) => (
        <span key={i}>
          <Value field={items} value={item} isShort={isShort} />
        </span>
      ))}
      {shown.length < value.length && <span class="faint">and {value.length - shown.length} more</span>}
    </span>
  )
}

function Parts({ field, value }: { field: Field; value: object }) {
  const own = value as { readonly [name: string]: unknown }
  return (
    <dl class="parts">
      {field.fields
        .filter(({ name }) => own[name] !== undefined)
        .map((inner) => (
          <div key={inner.name}>
            <dt>{inner.name}</dt>
            <dd>
              <Value field={inner} value={own[inner.name]} />
            </dd>
          </div>
        ))}
    </dl>
  )
}
