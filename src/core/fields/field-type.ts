import type { ComparableType, FieldRef, Scalar, ValueType } from '../filter/filter.js'
import type { JsonSchema } from '../json/json-schema.js'
import type { ConfigReport } from '../json/report.js'
import type { FieldDefinition, FieldTypeName } from '../types.js'

/** The definition of a field of one type. */
export type DefinitionOf<T extends FieldTypeName> = FieldDefinition & { readonly type: T }

/** Definitions by name, in a schema or in the properties of an object. */
export type Definitions = { readonly [name: string]: FieldDefinition }

/** Attributes that several types share with the same meaning. */
type SharedAttribute =
  | 'type'
  | '$comment'
  | 'description'
  | 'required'
  | 'nullable'
  | 'immutable'
  | 'stored'
  | 'fill'
  | 'unique'
  | 'index'

/** A compiled field: its path, its type, and the fields inside it. */
export interface Field<T extends FieldTypeName = FieldTypeName> {
  readonly name: string
  /** The dotted path. The items of an array have the path of the array. */
  readonly path: string
  readonly type: T
  readonly fieldType: FieldType<T>
  readonly definition: DefinitionOf<T>
  /** The field as filters and sorts see it; `null` for a secret, which they cannot use. */
  readonly ref: FieldRef | null
  /** The fields inside an object. */
  readonly properties: readonly Field[]
  /** The field that describes the elements of an array. */
  readonly items: Field | null
  /**
   * Returns the stored form of a value, with the fields inside it unchanged; `undefined` if nothing is
   * stored.
   */
  readonly normalise: (value: unknown) => unknown
  /**
   * Returns the default of a missing field. If `now` is `null`, returns it only if it does not depend on the
   * time.
   */
  readonly defaultAt: (now: string | null) => unknown
  /** Whether any field inside this field has a default. */
  readonly fillsInside: boolean
}

/** The traits of a type with scalar values, which can be compared, sorted, unique and indexed. */
interface ScalarTraits {
  readonly isScalar: true
  /** Whether values are strings, so that a query need not quote them and patterns apply. */
  readonly holdsText: boolean
  /** Whether the operators for order, such as `$gt`, apply. */
  readonly isOrdered: boolean
  /** Whether values may have any length. An index limits the length of its values. */
  readonly isUnbounded: boolean
  /** The type as filters see it. */
  readonly valueType: ComparableType
  /**
   * Returns the reason why a query cannot compare values of this type with an operand; `undefined` if it can.
   */
  judgeOperand(operand: Scalar): OperandFault | undefined
}

interface OpaqueTraits {
  readonly isScalar: false
  readonly holdsText: false
  readonly isOrdered: false
  /** `null` for a secret, which is only allowed at the top level, and is never compared or shown. */
  readonly valueType: Exclude<ValueType, ComparableType> | null
}

/** The traits of all types whose values cannot be compared. */
export const OPAQUE = { isScalar: false, holdsText: false, isOrdered: false } as const

/** The error for an operand in a query; `'type'` if the operand has the wrong type. */
export type OperandFault = 'type' | readonly [code: string, message: string]

/** Checks of a definition that a JSON Schema cannot express. */
export interface DefinitionCheck {
  /**
   * Reports a fault of an attribute, which is then ignored. `part` is a JSON pointer to the fault inside it.
   */
  refuse(attribute: string, message: string, part?: string): void
  /** The report for the definition. A fault reported here does not change the definition. */
  readonly report: ConfigReport
  /** Checks a definition that is inside this definition. */
  settle(definition: FieldDefinition, place: ConfigReport): FieldDefinition
}

/** The purpose of a printed type: a stored document, the body that creates a document, or a merge patch. */
export type Purpose = 'document' | 'create' | 'update'

/** Prints the TypeScript types that occur inside a type. */
export interface TypePrinter {
  readonly purpose: Purpose
  print(definition: FieldDefinition, purpose: Purpose): string
  printProperties(definitions: Definitions): string
  /** Prints a union of literals. */
  printChoice(values: readonly (string | number)[]): string
}

/**
 * All that the service needs to know about a field type. Its functions are methods because TypeScript
 * compares the parameters of methods bivariantly, so that each type in the table is also a plain `FieldType`.
 */
export type FieldType<T extends FieldTypeName = FieldTypeName> = (ScalarTraits | OpaqueTraits) & {
  /** A description of the values, for authors of configurations. */
  readonly description: string
  /**
   * The attributes of a definition besides the shared attributes, including `default`, which has the field's
   * type.
   */
  readonly attributes: { readonly [name in Exclude<keyof DefinitionOf<T>, SharedAttribute>]-?: JsonSchema }
  /** The attributes that a definition must have. */
  readonly needed?: readonly string[]
  /** A lower and an upper bound: two attributes, of which the first must not be greater than the second. */
  readonly bounds?: readonly [lower: string, upper: string]
  /**
   * Checks what a JSON Schema cannot express. Returns the definition in the form that the other members
   * expect.
   */
  settle?(definition: DefinitionOf<T>, check: DefinitionCheck): DefinitionOf<T>
  /** Returns the definitions of the fields inside a value. */
  inside?(definition: DefinitionOf<T>): {
    readonly properties?: Definitions
    readonly items?: FieldDefinition
  }
  /**
   * Returns the JSON Schema of a normalised value whose secrets are not hashed yet, with keywords of
   * `schema/keywords.ts`. It does not include the pattern and the values inside, because they are checked separately.
   */
  bodySchema(field: Field<T>): JsonSchema
  /** Returns the regular expression that must match somewhere in a value. */
  patternOf?(definition: DefinitionOf<T>): string | undefined
  /**
   * Compiles the conversion of a value to stored form. A value of another type stays unchanged, because the
   * validator rejects it.
   */
  compileNormalise?(definition: DefinitionOf<T>): (value: unknown) => unknown
  /**
   * Returns the value of a `default` at a time. If `now` is `null`, returns `undefined` for a value that
   * depends on the time.
   */
  readDefault?(written: unknown, now: string | null): unknown
  /** Prints the TypeScript type. */
  print(definition: DefinitionOf<T>, printer: TypePrinter): string
}
