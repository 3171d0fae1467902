/**
 * Allows a `$comment` for human readers, which the service ignores. Every object of a configuration may have a
 * comment, except literal values and filters.
 */
export interface Commented {
  readonly $comment?: string
}

interface CommonAttributes extends Commented {
  readonly description?: string
  /** Every stored document must have the property. */
  readonly required?: boolean
  /** A `null` in a body is accepted and means "absent". */
  readonly nullable?: boolean
  /** The property can be set only when the document is created. */
  readonly immutable?: boolean
  /** The name of the property in the storage, if it was renamed. Default: its own name. Not for elements of arrays. */
  readonly stored?: string
  /**
   * The value that a run of `migrate` gives to stored documents that lack the property. Only beside `required`, and not
   * for hashes, references and unique fields.
   */
  readonly fill?: unknown
}

interface ScalarAttributes extends CommonAttributes {
  readonly unique?: boolean
  readonly index?: boolean
}

/** The definition of a field: a type and its attributes, named like the keywords of JSON Schema. */
export type FieldDefinition =
  | (ScalarAttributes & {
      readonly type: 'string'
      readonly minLength?: number
      readonly maxLength?: number
      readonly pattern?: string
      readonly format?: 'email' | 'uri' | 'uuid' | 'date' | 'time' | 'ipv4' | 'ipv6' | 'hostname'
      readonly enum?: readonly string[]
      readonly trim?: boolean
      readonly lowercase?: boolean
      readonly default?: string
    })
  | (CommonAttributes & { readonly type: 'hash'; readonly minLength?: number; readonly maxLength?: number })
  | (ScalarAttributes & {
      readonly type: 'number' | 'integer'
      readonly minimum?: number
      readonly maximum?: number
      readonly enum?: readonly number[]
      readonly default?: number
    })
  | (ScalarAttributes & { readonly type: 'boolean'; readonly default?: boolean })
  | (ScalarAttributes & {
      readonly type: 'timestamp'
      readonly minimum?: string
      readonly maximum?: string
      readonly default?: string
    })
  | (CommonAttributes & {
      readonly type: 'array'
      readonly items: FieldDefinition
      readonly minItems?: number
      readonly maxItems?: number
      /** Speeds up filters that look for an element of the array. Needs `maxItems` of at most 1,000. */
      readonly index?: boolean
      readonly default?: readonly unknown[]
    })
  | (CommonAttributes & {
      readonly type: 'object'
      readonly properties: { readonly [name: string]: FieldDefinition }
      readonly default?: { readonly [name: string]: unknown }
    })
  | (CommonAttributes & { readonly type: 'json'; readonly default?: unknown })
  | (ScalarAttributes & {
      readonly type: 'reference'
      /** The collection of the referenced document. The value of the field is the `_id` of that document. */
      readonly collection: string
      /** The effect of deleting the referenced document. Default `restrict`: the delete is rejected. */
      readonly onDelete?: 'restrict' | 'cascade' | 'unset'
      /** Maps fields of this document to the fields of the referenced document that must have the same values. */
      readonly match?: { readonly [here: string]: string }
      readonly default?: string
    })

/** The name of a field type. */
export type FieldTypeName = FieldDefinition['type']
