import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type DescribedCollection, findField, unknownField } from '../../model/description.js'
import { type FieldDraft, type Meaning, readDraft, toDraft } from '../../model/draft.js'
import { isSystem, labelField } from '../../model/labels.js'
import { type FilterCondition, type ListQuery, writeFilter } from '../../model/list-query.js'
import type { Field } from '../../model/schema.js'
import { FieldInput } from '../../parts/field.js'
import { Menu } from '../../parts/menu.js'

/** A condition that is being edited. */
interface Line {
  readonly path: string
  readonly operator: string
  readonly draft: FieldDraft
}

interface Props {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  readonly onChange: (query: ListQuery) => void
}

const isListOf = (operator: string): boolean => operator === '$in' || operator === '$nin'

/** Returns the field that describes the operand of a condition. */
function operandField(
  collection: DescribedCollection,
  { path, operator }: Pick<Line, 'path' | 'operator'>,
): Field {
  const found = findField(collection.fields, path) ?? unknownField(path)
  const scalar = found.items ?? found
  const plain = { ...unknownField('value'), isRequired: true, description: '' }
  if (operator === '$exists') return { ...plain, kind: 'boolean' }
  if (operator === '$contains' || operator === '$regex') return { ...plain, kind: 'text' }
  const own: Field = {
    ...scalar,
    name: 'value',
    isRequired: true,
    description: '',
    kind: scalar.kind === 'long' || scalar.kind === 'json' ? 'text' : scalar.kind,
  }
  return isListOf(operator) ? { ...plain, kind: 'array', items: own, target: own.target } : own
}

/** Reads the operand of a condition. An empty operand is a validation error. */
function readLine(collection: DescribedCollection, line: Line): Meaning {
  const read = readDraft(operandField(collection, line), line.draft)
  return read.value === undefined && read.faults.length === 0
    ? { ...read, faults: [{ path: '', message: 'is required' }] }
    : read
}

/** Returns the label of an operator for a kind of field. */
function describeOperator(operator: string, kind: Field['kind']): string {
  const isTime = kind === 'time' || kind === 'date'
  const words: { readonly [operator: string]: string } = {
    $eq: 'is',
    $ne: 'is not',
    $gt: isTime ? 'is after' : 'is more than',
    $gte: isTime ? 'is at or after' : 'is at least',
    $lt: isTime ? 'is before' : 'is less than',
    $lte: isTime ? 'is at or before' : 'is at most',
    $in: 'is one of',
    $nin: 'is none of',
    $contains: 'contains',
    $regex: 'matches the pattern',
    $exists: 'has a value',
  }
  return words[operator] ?? operator
}

/** The operators in the order in which the form of the filter offers them. */
const OPERATORS: readonly string[] = [
  '$contains',
  '$eq',
  '$ne',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$in',
  '$nin',
  '$exists',
  '$regex',
]

/** Returns the operators that can be chosen for a path. */
function operatorsOf(collection: DescribedCollection, path: string): readonly string[] {
  const allowed = collection.filters.get(path) ?? []
  const field = findField(collection.fields, path)
  const kind = field?.items?.kind ?? field?.kind
  // Patterns are not offered for an `_id`, a time or a choice, because they are not useful there.
  const isText = path !== '_id' && (kind === 'text' || kind === 'long')
  return OPERATORS.filter((one) =>
    one === '$contains' || one === '$regex' ? isText && allowed.includes('$regex') : allowed.includes(one),
  )
}

const toLine =
  (collection: DescribedCollection) =>
  (condition: FilterCondition): Line =>
    condition.value === null
      ? { path: condition.path, operator: '$exists', draft: condition.operator === '$ne' ? 'true' : 'false' }
      : { ...condition, draft: toDraft(operandField(collection, condition), condition.value) }

/** The form for the filter: conditions that must all match, and groups of which at least one must match. */
export function Filters({ collection, query, onChange }: Props) {
  const paths = [...collection.filters.keys()]
  const read = toLine(collection)
  const all = useSignal<readonly Line[]>([])
  const any = useSignal<readonly (readonly Line[])[]>([])
  const isTried = useSignal(false)
  const key = JSON.stringify([query.all, query.any])
  useEffect(() => {
    all.value = query.all.map(read)
    any.value = query.any.map((group) => group.map(read))
  }, [key])
  if (paths.length === 0) return null

  const begin = (): Line => {
    const name = labelField(collection)?.name
    const path = paths.find((one) => one === name) ?? paths.find((one) => !isSystem(one)) ?? paths[0] ?? ''
    return { path, operator: operatorsOf(collection, path)[0] ?? '$eq', draft: '' }
  }
  const settle = (lines: readonly Line[]): readonly FilterCondition[] =>
    lines.map((line) => ({
      path: line.path,
      operator: line.operator,
      value: readLine(collection, line).value,
    }))
  const apply = (): void => {
    // The filter is not applied while a condition cannot be read, because the list would show more documents without
    // that condition.
    isTried.value = [...all.value, ...any.value.flat()].some(
      (line) => readLine(collection, line).faults.length > 0,
    )
    if (!isTried.value) onChange({ ...query, all: settle(all.value), any: any.value.map(settle) })
  }
  const isRaw = query.filter.length > 0
  const total = query.all.length + query.any.flat().length + query.filter.length
  return (
    <Menu name="Filter" {...(total > 0 ? { badge: String(total) } : {})}>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          apply()
        }}
      >
        {isRaw && (
          <p class="hint">
            The form cannot show this filter of the URL: <code>{writeFilter(query)}</code>
          </p>
        )}
        <Group
          {...{ collection, paths }}
          isTried={isTried.value}
          title="All of these match"
          lines={all.value}
          onChange={(lines) => {
            all.value = lines
          }}
        />
        {any.value.map((group, i) => (
          <Group
            key={i}
            {...{ collection, paths }}
            isTried={isTried.value}
            title={i === 0 ? 'And this alternative' : 'Or this alternative'}
            lines={group}
            onChange={(lines) => {
              any.value = any.value.map((one, at) => (at === i ? lines : one)).filter((one) => one.length > 0)
            }}
          />
        ))}
        <div class="actions">
          {!isRaw && (
            <>
              <button type="submit" class="main">
                Apply
              </button>
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  all.value = [...all.value, begin()]
                }}
              >
                Add a condition
              </button>
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  any.value = [...any.value, [begin()]]
                }}
              >
                Add an alternative
              </button>
            </>
          )}
          {total > 0 && (
            <button
              type="button"
              class="quiet"
              onClick={() => onChange({ ...query, all: [], any: [], filter: [] })}
            >
              Remove all
            </button>
          )}
        </div>
      </form>
    </Menu>
  )
}

interface GroupProps {
  readonly collection: DescribedCollection
  readonly paths: readonly string[]
  readonly title: string
  /** Whether validation errors are shown. */
  readonly isTried: boolean
  readonly lines: readonly Line[]
  readonly onChange: (lines: readonly Line[]) => void
}

function Group({ collection, paths, title, isTried, lines, onChange }: GroupProps) {
  if (lines.length === 0) return null
  const put = (i: number, line: Line): void => onChange(lines.map((one, at) => (at === i ? line : one)))
  return (
    <fieldset class="conditions">
      <legend>{title}</legend>
      {lines.map((line, i) => {
        const kind = findField(collection.fields, line.path)?.kind ?? 'text'
        return (
          <div class="condition" key={i}>
            <select
              aria-label="Field"
              value={line.path}
              onChange={(event) => {
                const path = event.currentTarget.value
                put(i, { path, operator: operatorsOf(collection, path)[0] ?? '$eq', draft: '' })
              }}
            >
              {paths.map((path) => (
                <option key={path}>{path}</option>
              ))}
            </select>
            <select
              aria-label="Condition"
              value={line.operator}
              onChange={(event) => put(i, { ...line, operator: event.currentTarget.value, draft: '' })}
            >
              {operatorsOf(collection, line.path).map((operator) => (
                <option key={operator} value={operator}>
                  {describeOperator(operator, kind)}
                </option>
              ))}
            </select>
            <FieldInput
              key={`${line.path} ${line.operator}`}
              field={operandField(collection, line)}
              draft={line.draft}
              path=""
              faults={isTried ? readLine(collection, line).faults : []}
              onChange={(draft) => put(i, { ...line, draft })}
            />
            <button
              type="button"
              class="quiet"
              aria-label={`Remove the condition on ${line.path}`}
              onClick={() => onChange(lines.filter((_, at) => at !== i))}
            >
              ×
            </button>
          </div>
        )
      })}
    </fieldset>
  )
}
