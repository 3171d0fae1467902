import type { ComparableType, FieldRef, Scalar, ValueType } from '../filter/filter.js'
import type { JsonSchema } from '../json/json-schema.js'
import type { ConfigReport } from '../json/report.js'
import type { FieldDefinition, FieldTypeName } from '../types.js'

/** The definition of a field of one type. */
export type DefinitionOf<T extends FieldTypeName> = FieldDefinition & { readonly type: T }

/** Definitions by name: those of a schema, or of an object's properties. */
export type Definitions = { readonly [name: string]: FieldDefinition }

/** Attributes that several types share, with the same meaning. */
type SharedAttribute =
  | 'type'
  | '$comment'
  | 'description'
  | 'required'
  | 'nullable'
  | 'immutable'
  | 'unique'
  | 'index'

/** A compiled field: its path, its type, and the fields inside it. */
export interface Field<T extends FieldTypeName = FieldTypeName> {
  readonly name: string
  /** Dotted; an array's items have the path of the array. */
  readonly path: string
  readonly type: T
  readonly fieldType: FieldType<T>
  readonly definition: DefinitionOf<T>
  /** The field as filters and sorts see it; `null` for a secret, which they never see. */
  readonly ref: FieldRef | null
  /** The fields of an object. */
  readonly properties: readonly Field[]
  /** The elements of an array. */
  readonly items: Field | null
  /** The stored form of a value, without the fields inside it; `undefined` if nothing is stored. */
  readonly normalise: (value: unknown) => unknown
  /** The default of a missing field. With `now` as `null`, only a default independent of the time. */
  readonly defaultAt: (now: string | null) => unknown
  /** Whether a field inside it has a default. */
  readonly fillsInside: boolean
}

/** A type with scalar values: they can be compared, sorted, unique and indexed. */
interface ScalarTraits {
  readonly isScalar: true
  /** Whether unquoted text in a query is text, and patterns apply. */
  readonly holdsText: boolean
  /** Whether the ordering operators apply. */
  readonly isOrdered: boolean
  /** Whether values may have any length. An indexed value is limited to what every index can take. */
  readonly isUnbounded: boolean
  /** The type that filters see. */
  readonly valueType: ComparableType
  /** The reason why a query cannot compare values of the type with this operand; `undefined` if it can. */
  judgeOperand(operand: Scalar): OperandFault | undefined
}

interface OpaqueTraits {
  readonly isScalar: false
  readonly holdsText: false
  readonly isOrdered: false
  /** `null` for a secret: it is only allowed at the top level, and never compared or shown. */
  readonly valueType: Exclude<ValueType, ComparableType> | null
}

/** The traits of all types whose values cannot be compared. */
export const OPAQUE = { isScalar: false, holdsText: false, isOrdered: false } as const

/** The error of an operand of a query; `'type'` if its type is wrong. */
export type OperandFault = 'type' | readonly [code: string, message: string]

/** Checks what a JSON Schema cannot express about a definition. */
export interface DefinitionCheck {
  /** Notes a fault of an attribute, which then counts as absent. `part` points to the fault inside it. */
  refuse(attribute: string, message: string, part?: string): void
  /** The place of the definition. A fault noted here does not change the definition. */
  readonly report: ConfigReport
  /** Checks a definition inside this one. */
  settle(definition: FieldDefinition, place: ConfigReport): FieldDefinition
}

/** The purpose of a printed type: a stored document, the body of a create, or a merge patch. */
export type Purpose = 'document' | 'create' | 'update'

/** Prints the TypeScript types inside a type. */
export interface TypePrinter {
  readonly purpose: Purpose
  print(definition: FieldDefinition, purpose: Purpose): string
  printProperties(definitions: Definitions): string
  /** Prints a union of literals. */
  printChoice(values: readonly (string | number)[]): string
}

/**
 * All that the service needs of a field type. Its functions are methods because TypeScript compares the
 * parameters of methods bivariantly: each type in the table is then also a plain `FieldType`.
 */
export type FieldType<T extends FieldTypeName = FieldTypeName> = (ScalarTraits | OpaqueTraits) & {
  /** A description of the values, for authors of configurations. */
  readonly description: string
  /** The attributes of a definition besides the shared ones; with `default`, whose type is the field's. */
  readonly attributes: { readonly [name in Exclude<keyof DefinitionOf<T>, SharedAttribute>]-?: JsonSchema }
  /** The required attributes. */
  readonly needed?: readonly string[]
  /** Two attributes, of which the first must not be greater than the second. */
  readonly bounds?: readonly [lower: string, upper: string]
  /** Checks what a JSON Schema cannot express; returns the definition as the other members take it. */
  settle?(definition: DefinitionOf<T>, check: DefinitionCheck): DefinitionOf<T>
  /** The definitions of the fields inside a value. */
  inside?(definition: DefinitionOf<T>): {
    readonly properties?: Definitions
    readonly items?: FieldDefinition
  }
  /**
   * The JSON Schema of a normalised value; a secret is still in clear. Without the pattern and the elements
   * of an array, which are checked separately.
   */
  bodySchema(field: Field<T>): JsonSchema
  /** The regular expression that must match somewhere in a value. */
  patternOf?(definition: DefinitionOf<T>): string | undefined
  /** Compiles the conversion of a value into stored form. It leaves values of another type to the validator. */
  compileNormalise?(definition: DefinitionOf<T>): (value: unknown) => unknown
  /** The value of a `default` at a time; at `null`, `undefined` if the value depends on the time. */
  readDefault?(written: unknown, now: string | null): unknown
  /** Prints the TypeScript type. */
  print(definition: DefinitionOf<T>, printer: TypePrinter): string
}
