/**
 * A JSON Schema: draft 7 and 2020-12 alike, plus `maxBytes` (UTF-8), `notBefore` and `notAfter` (stored
 * timestamps).
 */
export type JsonSchema = { readonly [keyword: string]: unknown }
