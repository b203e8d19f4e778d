import { connect } from 'node:net'
import type { Kernel } from '../../wire/kernel.ts'
import { swankKernel } from '../../wire/kernels/swank.ts'
import { SwankConnection } from '../../wire/swank/connection.ts'
import { LISP } from '../support/snippets-lisp.ts'
import { startSwank } from '../support/swank.ts'
import { kernelSuite } from './kernel-suite.ts'

/** The same facts on a real SBCL that a person has started with Swank, and that is only attached to. */
async function open(): Promise<Kernel> {
  const swank = await startSwank()
  const socket = connect({ port: swank.port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const connection = new SwankConnection({ socket, heard: () => {} })
  return swankKernel({ name: 'lisp', connection, info: { style: 'spawn' }, attached: true })
}

kernelSuite({ title: 'SBCL, attached, Swank', snippets: LISP, open, descriptors: "the program's" })
