/** The error for an invalid command line. Its message says why. */
export class UsageError extends Error {}
