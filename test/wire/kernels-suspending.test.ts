import { ownedPython } from '../support/real-kernels.ts'
import { SUSPENDING_PYTHON } from '../support/snippets-suspending.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

suspensionSuite({ title: 'Python', snippets: SUSPENDING_PYTHON, open: ownedPython })
