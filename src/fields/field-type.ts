import type { ComparableType, FieldRef, Scalar, ValueType } from '../filter/filter.js'
import type { JsonSchema } from '../json/json-schema.js'
import type { ConfigReport } from '../json/report.js'
import type { FieldDefinition, FieldTypeName } from '../types.js'

/** The definition of a field of one type. */
export type DefinitionOf<T extends FieldTypeName> = FieldDefinition & { readonly type: T }

/** Definitions by name: those of a schema, or of an object's properties. */
export type Definitions = { readonly [name: string]: FieldDefinition }

/** Attributes that more than one type has, and that mean the same for each. */
type SharedAttribute =
  | 'type'
  | '$comment'
  | 'description'
  | 'required'
  | 'nullable'
  | 'immutable'
  | 'unique'
  | 'index'

/** A field of a schema, compiled: its place, its type, and what lies inside it. */
export interface Field<T extends FieldTypeName = FieldTypeName> {
  readonly name: string
  /** Dotted; that of the array for its items. */
  readonly path: string
  readonly type: T
  readonly fieldType: FieldType<T>
  readonly definition: DefinitionOf<T>
  /** How filters and sorts see it; `null` for a secret, which they never see. */
  readonly ref: FieldRef | null
  /** Of an object. */
  readonly properties: readonly Field[]
  /** Of an array. */
  readonly items: Field | null
  /** The stored form of a value, without what lies inside it; `undefined` where there is nothing to store. */
  readonly normalise: (value: unknown) => unknown
  /** What is put where the field is missing. With `now` as `null` only what does not depend on the time. */
  readonly defaultAt: (now: string | null) => unknown
}

/** A type whose values are single ones, which can be compared, sorted by, unique and indexed. */
interface ScalarTraits {
  readonly isScalar: true
  /** Unquoted text in a query is text; patterns apply. */
  readonly holdsText: boolean
  /** The ordering operators apply. */
  readonly isOrdered: boolean
  /** Values may be of any length. One that enters an index is held to what every index can take. */
  readonly isUnbounded: boolean
  /** What filters take its values for. */
  readonly valueType: ComparableType
  /** Why a query cannot compare values of the type with one of its own. */
  judgeOperand(operand: Scalar): OperandFault | undefined
}

interface OpaqueTraits {
  readonly isScalar: false
  readonly holdsText: false
  readonly isOrdered: false
  /** `null` of a secret: it stands at the top level, and is never compared and never shown. */
  readonly valueType: Exclude<ValueType, ComparableType> | null
}

/** The traits that all types have whose values cannot be compared. */
export const OPAQUE = { isScalar: false, holdsText: false, isOrdered: false } as const

/** What is wrong with a value that a query names; `'type'` where it is a value of another type. */
export type OperandFault = 'type' | readonly [code: string, message: string]

/** Judges what a JSON Schema cannot say of a definition. */
export interface DefinitionCheck {
  /** Notes a fault of an attribute, which counts as absent from then on. `part` is the pointer to what in it is wrong. */
  refuse(attribute: string, message: string, part?: string): void
  /** The place of the definition. What is said there leaves it as it is. */
  readonly report: ConfigReport
  /** Judges a definition inside this one. */
  settle(definition: FieldDefinition, place: ConfigReport): FieldDefinition
}

/** What a printed type describes: a document as it is read, the body of a new one, a merge patch. */
export type Purpose = 'document' | 'create' | 'update'

/** Prints what lies inside a type of TypeScript. */
export interface TypePrinter {
  readonly purpose: Purpose
  print(definition: FieldDefinition, purpose: Purpose): string
  printProperties(definitions: Definitions): string
  /** One of these values. */
  printChoice(values: readonly (string | number)[]): string
}

/**
 * Everything that the service asks of a field type. Its functions are methods, because TypeScript compares the parameters
 * of methods both ways: so each type in the table is a `FieldType` without a name, too.
 */
export type FieldType<T extends FieldTypeName = FieldTypeName> = (ScalarTraits | OpaqueTraits) & {
  /** What a value is, for those who write a configuration. */
  readonly description: string
  /** The attributes that a definition takes beside the shared ones; `default` among them, because its type is the field's. */
  readonly attributes: { readonly [name in Exclude<keyof DefinitionOf<T>, SharedAttribute>]-?: JsonSchema }
  /** Those of them without which a definition means nothing. */
  readonly needed?: readonly string[]
  /** Two of them, of which the first must not be greater. */
  readonly bounds?: readonly [lower: string, upper: string]
  /** The definition in the form that the other members take, after what a JSON Schema cannot say of it is judged. */
  settle?(definition: DefinitionOf<T>, check: DefinitionCheck): DefinitionOf<T>
  /** The definitions of what lies inside a value. */
  inside?(definition: DefinitionOf<T>): {
    readonly properties?: Definitions
    readonly items?: FieldDefinition
  }
  /**
   * The JSON Schema of a value, normalised, a secret still in clear; without its pattern and what lies in an array, which
   * are judged apart.
   */
  bodySchema(field: Field<T>): JsonSchema
  /** The regular expression that a value must match somewhere. */
  patternOf?(definition: DefinitionOf<T>): string | undefined
  /** Compiles what brings a value into stored form. What does not fit the type is left for validation. */
  compileNormalise?(definition: DefinitionOf<T>): (value: unknown) => unknown
  /** What a `default` stands for at a time; `undefined` at none in particular (`null`) where that differs. */
  readDefault?(written: unknown, now: string | null): unknown
  /** The type of TypeScript, for a purpose. */
  print(definition: DefinitionOf<T>, printer: TypePrinter): string
}
