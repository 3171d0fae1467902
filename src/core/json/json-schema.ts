/**
 * A JSON Schema, valid in draft 7 and 2020-12, with `maxBytes` (UTF-8), `notBefore` and `notAfter`
 * (timestamps).
 */
export type JsonSchema = { readonly [keyword: string]: unknown }
