import { join } from 'node:path'

/** Where `test/setup.mjs` puts what the tests need beyond Node. Nothing here is on anybody's PATH. */
const runtimes = join(import.meta.dirname, '../../.test-runtimes')

/** A Python with ipykernel, jupyter_client, numpy, msgpack and the Python MCP SDK in it. */
export const venvPython = join(runtimes, 'python', 'bin', 'python')
