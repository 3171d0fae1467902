import { collectPaths, compileFields, SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { suggest, USERS } from '../fields/schema/names.js'
import { toPointerPart } from '../json/pointer.js'
import { elementOf } from '../query/condition.js'
import {
  isVariable,
  type JudgeVariable,
  NOW,
  USER,
  userPathOf,
  type VariableForm,
} from '../query/variable.js'
import type { FieldDefinition } from '../types.js'
import type { IsUnsure } from './shape/check-shape.js'
import { isUnsurePath } from './shape/settle-shape.js'

/** Returns the JSON type of the values of a field; `undefined` if they may have any type. */
const kindOf = (field: Field): unknown => {
  const { type } = field.fieldType.bodySchema(field)
  return type === 'integer' ? 'number' : type
}

/** Whether a field can contain at least some of the values that another field contains. */
function canHold(target: Field, source: Field): boolean {
  const [to, from] = [kindOf(target), kindOf(source)]
  if (to === undefined || from === undefined) return true
  const types = [target.type, source.type]
  if (to !== from || (types.includes('timestamp') && types.includes('reference'))) return false
  return !target.items || !source.items || canHold(target.items, source.items)
}

/** Returns the type of a field in words, without an article. */
const nameType = ({ type, items }: Field): string => (items ? `array of ${items.type}` : type)

/**
 * Creates the check of variables. `$user` is a document of `users` if the service keeps the accounts. Callers
 * that the host application authenticates may have any field of any type (CONTRACT.md §5).
 */
export function createVariableJudge(
  users: { readonly [field: string]: FieldDefinition } | undefined,
  options: {
    readonly hasAuthenticate: boolean
    readonly isUnsure: IsUnsure
    /** The claims, described as fields of the caller. */
    readonly claims: ReadonlyMap<string, Field>
  },
): JudgeVariable {
  const fields = [...collectPaths(compileFields(users ?? {})), ...SYSTEM_FIELD_PLANS]
  const known = new Map(fields.map((field) => [field.path, field]))
  const isUnsure = isUnsurePath(known)
  /**
   * Returns the field that describes a variable's values; `null` if the field is unknown, `undefined` if it
   * does not exist.
   */
  const fieldOf = (path: string): Field | null | undefined => {
    const [head = ''] = path.split('.')
    if (path === '_id' || options.claims.has(path)) return options.claims.get(path) ?? known.get(path)
    if (isUnsureClaim(options.isUnsure, head) || options.hasAuthenticate) return null
    if (options.isUnsure(`/collections/${USERS}/schema`) || isUnsure(path)) return null
    return known.get(path)
  }
  return (variable, form, targets = []) => {
    const path = userPathOf(variable)
    if (!isVariable(variable) || path === '') return describeUnknown(variable)
    const [head = ''] = (path ?? '').split('.')
    if (options.claims.has(head) && path !== head) return PART
    // The variable for the time has the type of `createdAt`.
    const field = path === undefined ? known.get('createdAt') : fieldOf(path)
    if (field === null) return undefined
    if (field) {
      const held = form === 'list' ? elementOf(field) : field
      // If a `set` copies a claim, the target must be an array, although a `json` field accepts any value.
      const isOnlyForLists = form === undefined && options.claims.has(head)
      const takes = (target: Field): boolean =>
        canHold(target, held) && (target.items !== null || !isOnlyForLists)
      const [target] = targets
      const misfit =
        target && !targets.some(takes)
          ? `${variable} has the type ${nameType(held)}, but the field has the type ${nameType(target)}`
          : undefined
      return judgeForm(variable, form, formsOf(field)) ?? misfit
    }
    const named = [...known.keys(), ...options.claims.keys()].map((name) => USER + name)
    return `${variable} has no value: "${USERS}" has no such readable field, and there is no such claim${suggest(variable, named)}`
  }
}

/** Whether a claim of this name was not compiled because it has a fault. */
const isUnsureClaim = (isUnsure: IsUnsure, name: string): boolean =>
  ['from', 'where', 'take'].some((attribute) => isUnsure(`/auth/claims${toPointerPart(name)}/${attribute}`))

function describeUnknown(variable: string): string {
  const meant = variable.replace(/^[^.]*\./, USER)
  const near = suggest(variable, isVariable(meant) ? [NOW, meant] : [NOW])
  return `${JSON.stringify(variable)} is not a variable; use "$now" or "$user.<field>"${near}`
}

const PART = 'a claim contains single values, which have no fields'

function formsOf({ fieldType, items }: Field): readonly VariableForm[] {
  if (fieldType.valueType === 'json') return ['single', 'list']
  if (items) return ['list']
  return fieldType.isScalar ? ['single'] : []
}

/** Judges the form of an operand. With the wrong form, a comparison would be false for every caller. */
function judgeForm(
  variable: string,
  form: VariableForm | undefined,
  forms: readonly VariableForm[],
): string | undefined {
  if (form === undefined || forms.includes(form)) return undefined
  const [held] = forms
  if (form === 'single') return `must be a single value, but ${variable} is ${held ? 'a list' : 'an object'}`
  return held
    ? `must be a list, but ${variable} is a single value: write ["${variable}"]`
    : `must be a list, but ${variable} is an object`
}
