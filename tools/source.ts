/** How long source text may be that one call carries: characters, as `String.length` counts them. */
export const SOURCE_LENGTH = 1_048_576
