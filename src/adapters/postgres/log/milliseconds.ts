/**
 * The milliseconds since 1970 of a time, as a whole number: before version 14 of PostgreSQL, `extract` gives a float8, and
 * a setting of the server (`extra_float_digits`) decides how many of its digits leave.
 */
export const millisecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`

/** The microseconds, likewise: the precision of the server's times. */
export const microsecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint`
