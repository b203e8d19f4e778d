import { ownedPython } from '../support/real-kernels.ts'
import { HOLDING_PYTHON } from '../support/snippets-suspending.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

suspensionSuite({ title: 'Python', snippets: HOLDING_PYTHON, open: ownedPython })
