/**
 * Builds an expression for a time in milliseconds since 1970. The cast to an integer is needed before PostgreSQL 14:
 * `extract` returns a float8 there, and the server setting `extra_float_digits` decides how many of its digits are
 * printed.
 */
export const millisecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`

/** Builds an expression for a time in microseconds since 1970, which is the precision of the server's times. */
export const microsecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint`
