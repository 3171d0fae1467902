/**
 * The milliseconds since 1970 of a time, as an integer: before PostgreSQL 14, `extract` returns a float8, and the
 * server setting `extra_float_digits` decides how many of its digits are printed.
 */
export const millisecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`

/** The microseconds since 1970: the precision of the server's times. */
export const microsecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint`
