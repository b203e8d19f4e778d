import type { SwankKernel, SwankOptions } from '../../wire/kernels/swank.ts'
import { swankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'

/** A kernel in the image behind that port of this machine, which is only attached to unless told otherwise. */
export async function openSwankKernel(
  { port }: { readonly port: number },
  options: Partial<SwankOptions> = {},
): Promise<SwankKernel> {
  const { connection, info } = await connectSwank({ host: '127.0.0.1', port, secret: null })
  return swankKernel({ name: 'lisp', connection, info, attached: true, ...options })
}
