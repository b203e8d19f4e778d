/** Variables that hold the key of a model: no kernel is told them. */
export const KEY_VARIABLES = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'] as const

export type KeyVariable = (typeof KEY_VARIABLES)[number]
