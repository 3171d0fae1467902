const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const IN_ANY_CASE = new RegExp(UUID, 'i')

/** Whether a string is a UUID in its stored form, which is lower case. */
export const isUuid = (text: string): boolean => UUID.test(text)

/**
 * Converts a UUID to lower case; returns any other string unchanged (CONTRACT.md §1, "Ids in upper case").
 */
export const lowerUuid = (text: string): string => (IN_ANY_CASE.test(text) ? text.toLowerCase() : text)
