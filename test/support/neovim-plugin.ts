import { join } from 'node:path'
import { type Neovim, openNeovim } from '../../examples/demos/neovim.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { neovimPath } from './runtimes.ts'

/** The plugin of editors/neovim, as it lies there. */
export const NEOVIM_PLUGIN = join(PACKAGE_ROOT, 'editors/neovim')

interface Start {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** A folder where its socket may lie. */
  readonly folder: string
  /** Those of the plugin, besides the command that starts `imago lsp`. */
  readonly settings?: object
}

/** A real Neovim with the plugin, and no file. */
export function openNeovimPlugin({ cwd, env, folder, settings = {} }: Start): Promise<Neovim> {
  const given = { IMAGO_PLUGIN: NEOVIM_PLUGIN, IMAGO_SETTINGS: JSON.stringify(settings) }
  const init = join(PACKAGE_ROOT, 'test/editors/neovim.lua')
  return openNeovim([neovimPath], { cwd, env: { ...env, ...given }, folder, init })
}

/** What a chunk of Lua returns for `given`, which it has as its one argument. */
export const luaWith = (neovim: Neovim, code: string, given: unknown): Promise<unknown> =>
  neovim.lua(`return (function(...) ${code} end)(vim.json.decode([=====[${JSON.stringify(given)}]=====]))`)
