/**
 * A JSON Schema that is valid in draft 7 and in 2020-12. The keywords `maxBytes` (UTF-8), `notBefore` and
 * `notAfter` (timestamps) are additions of this library.
 */
export type JsonSchema = { readonly [keyword: string]: unknown }
